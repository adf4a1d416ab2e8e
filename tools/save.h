/* SPDX-License-Identifier: MIT */
/*
 * Results into outputs: tensors as .npy, a piece at a time, and pictures. Included by the subcommands; it puts
 * output.h together with npy.h and picture.h, so that they need not know each other.
 */
#ifndef INLAY_TOOL_SAVE_H
#define INLAY_TOOL_SAVE_H

#include <stddef.h>

#include <inlay/inlay.h>

#include "output.h"

/** Writes the header of values [shape...]; the values follow. bfloat16, which NumPy lacks, is '<u2', the bits. */
int save_header(struct output *output, inlay_element_type type, const size_t *shape, size_t rank);

/** Writes n values of the header's type. */
int save_values(struct output *output, inlay_element_type type, const void *values, size_t n);

/** FAILED, with a message, where a picture is wanted (path is not null) and this build draws none. */
int save_plot_check(const char *path);

#endif
