/* SPDX-License-Identifier: MIT */
/*
 * The picture of `inlay table`: one panel, or one of cosines and one of sines.
 */
#ifndef INLAY_TOOL_TABLE_PICTURE_H
#define INLAY_TOOL_TABLE_PICTURE_H

#include "plot.h"
#include "positions.h"
#include "table_options.h"

/** Makes an empty heat of panels [rows of positions, columns]. FAILED, with a message, where there is no memory. */
int table_picture_start(struct heat *heat, size_t panels, size_t columns, const struct positions *positions);

/** Draws the heat once it has all rows, and writes the picture. */
int table_picture(struct output *output, const struct table_options *options, const struct positions *positions,
                  const struct heat *heat);

#endif
