/* SPDX-License-Identifier: MIT */
/*
 * The pictures of `inlay embed`: what stands beside the heat maps, from the options and from what the rows are.
 */
#pragma once

#include "embed/options.h"
#include "embed/tokens.h"
#include "outputs/output.h"

/** FAILED, with a message, where tokens make no picture: none at all, or too many sequences. */
int embed_picture_check(const struct tokens *tokens);

/** Draws values [sequences, length, dim], a panel per sequence, and writes them. */
int embed_picture(struct output *output, const struct embed_options *options, const struct tokens *tokens, size_t dim,
                  const float *values);
