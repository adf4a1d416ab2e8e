/* SPDX-License-Identifier: MIT */
/*
 * The names that the command line and descriptions have for the library's enums. Each function returns null for what is
 * no value of its enum.
 */
#ifndef INLAY_TOOL_NAMES_H
#define INLAY_TOOL_NAMES_H

const char *layout_name(int layout);
const char *spacing_name(int spacing);
const char *odd_name(int odd);
const char *type_name(int type);
const char *recipe_name(int recipe);
const char *rotary_scaling_name(int scaling);
const char *rotary_layout_name(int layout);

#endif
