/* SPDX-License-Identifier: MIT */
/*
 * The pictures of `inlay table`: what stands beside the heat maps, from the options and from what the rows are.
 */
#pragma once

#include "outputs/output.h"
#include "pictures/heat.h"
#include "table/options.h"
#include "table/positions.h"

/** Returns whether each position is written beside its row: those of a short list. */
bool table_picture_labelled(const struct positions *positions);

/** Draws the heat of panels [rows of positions, columns], one, or one of cosines and one of sines, and writes it. */
int table_picture(struct output *output, const struct table_options *options, const struct positions *positions,
                  struct heat *heat);
