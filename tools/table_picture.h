/* SPDX-License-Identifier: MIT */
/*
 * The picture of `inlay table`: one panel, or one of cosines and one of sines. Included by table.c.
 */
#ifndef INLAY_TOOL_TABLE_PICTURE_H
#define INLAY_TOOL_TABLE_PICTURE_H

#include <stddef.h>

#include "output.h"
#include "plot.h"
#include "positions.h"
#include "table_options.h"

/** Chooses a layout and makes empty heats [panels] for it, each of a row per position. */
int table_picture_start(struct heat *heats, size_t panels, size_t columns, const struct positions *positions,
                        struct plot_layout *layout);

/** Draws the heats once they have all rows, and writes the picture. */
int table_picture(struct output *output, const struct table_options *options, const struct positions *positions,
                  struct heat *heats, const struct plot_layout *layout);

#endif
