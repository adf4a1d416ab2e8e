/* SPDX-License-Identifier: MIT */
/*
 * The picture of an embedded batch: one panel per sequence.
 */
#ifndef INLAY_TOOL_EMBED_PICTURE_H
#define INLAY_TOOL_EMBED_PICTURE_H

#include <stddef.h>

#include "embed_options.h"
#include "output.h"
#include "tokens.h"

/** FAILED, with a message, where tokens make no picture: none at all, or too many sequences. */
int embed_picture_check(const struct tokens *tokens);

/** Draws values [sequences, length, dim] and writes them. */
int embed_picture(struct output *output, const struct embed_options *options, const struct tokens *tokens, size_t dim,
                  const float *values);

#endif
