/* SPDX-License-Identifier: MIT */
/*
 * Results into outputs: tensors as .npy, a piece at a time, and pictures. Included by the subcommands; it puts
 * output.h together with npy.h and picture.h, so that they need not know each other.
 */
#ifndef INLAY_TOOL_SAVE_H
#define INLAY_TOOL_SAVE_H

#include <stddef.h>

#include "output.h"
#include "plot.h"

/** Writes the header of float32 [shape...]; the values follow. */
int save_header(struct output *output, const size_t *shape, size_t rank);

/** Writes n values. */
int save_values(struct output *output, const float *values, size_t n);

/** FAILED, with a message, where a picture is wanted (path is not null) and this build draws none. */
int save_plot_check(const char *path);

/** Draws the plot and writes it. */
int save_plot(struct output *output, const struct plot *plot);

#endif
