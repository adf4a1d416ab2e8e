/* SPDX-License-Identifier: MIT */
/*
 * The library's enums by the names that the command line knows them by. Included by the files that parse options or
 * tell what was chosen. The option_ functions return DONE, or MISUSED with a message that lists the names.
 */
#ifndef INLAY_TOOL_NAMES_H
#define INLAY_TOOL_NAMES_H

#include <inlay/inlay.h>

int option_layout(const char *text, inlay_sinusoid_layout *layout);
int option_spacing(const char *text, inlay_sinusoid_spacing *spacing);
int option_odd(const char *text, inlay_sinusoid_odd *odd);
int option_type(const char *text, inlay_element_type *type);
int option_rotary_scaling(const char *text, inlay_rotary_scaling *scaling);
int option_rotary_layout(const char *text, inlay_rotary_layout *layout);

/** For --recipe and --compare, which `option` tells apart. */
int option_recipe(const char *option, const char *text, inlay_recipe *recipe);

const char *layout_name(inlay_sinusoid_layout layout);
const char *spacing_name(inlay_sinusoid_spacing spacing);
const char *type_name(inlay_element_type type);
const char *rotary_scaling_name(inlay_rotary_scaling scaling);
const char *rotary_layout_name(inlay_rotary_layout layout);

#endif
