/* SPDX-License-Identifier: MIT */
/*
 * The pictures of the subcommands: what stands beside the heat maps, from the options and from what the rows are.
 */
#ifndef INLAY_TOOL_PICTURES_H
#define INLAY_TOOL_PICTURES_H

#include "embed_options.h"
#include "plot.h"
#include "positions.h"
#include "table_options.h"
#include "tokens.h"

/** FAILED, with a message, where tokens make no picture: none at all, or too many sequences. */
int embed_picture_check(const struct tokens *tokens);

/** Draws values [sequences, length, dim], a panel per sequence, and writes them. */
int embed_picture(struct output *output, const struct embed_options *options, const struct tokens *tokens, size_t dim,
                  const float *values);

/** Makes an empty heat of panels [rows of positions, columns]: one, or one of cosines and one of sines. FAILED, with a
    message, where there is no memory. */
int table_picture_start(struct heat *heat, size_t panels, size_t columns, const struct positions *positions);

/** Draws the heat once it has all rows, and writes the picture. */
int table_picture(struct output *output, const struct table_options *options, const struct positions *positions,
                  const struct heat *heat);

#endif
