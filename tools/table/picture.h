/* SPDX-License-Identifier: MIT */
/*
 * The pictures of `inlay table`: what stands beside the heat maps, from the options and from what the rows are.
 */
#pragma once

#include "outputs/output.h"
#include "pictures/heat.h"
#include "table/options.h"
#include "table/positions.h"

/** Makes an empty heat of panels [rows of positions, columns]: one, or one of cosines and one of sines. FAILED, with a
    message, where there is no memory. */
int table_picture_start(struct heat *heat, size_t panels, size_t columns, const struct positions *positions);

/** Draws the heat once it has all rows, and writes the picture. */
int table_picture(struct output *output, const struct table_options *options, const struct positions *positions,
                  const struct heat *heat);
