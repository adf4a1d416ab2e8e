/* SPDX-License-Identifier: MIT */
/*
 * From the inputs of `inlay embed` (texts, files of text or lists of ids) to a rectangle of token ids. It knows nothing
 * of tables: whether an id is a row of one is the library's to say.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "embed/options.h"
#include "embed/vectorize.h"

/** Token ids [sequences, length], shorter sequences padded with id 0; or without padding for the layer of a model, of
    whose tokens 0 is one. */
struct tokens {
    int64_t *ids;
    size_t sequences;
    size_t length;
    int64_t *offsets;       /**< [sequences + 1]: where each begins and ends in ids without padding */
    struct vectorized text; /**< the vocabulary, where the input is text; otherwise text.words is null */
};

/** Reads, vectorizes, pads and cuts. The caller frees *tokens in any case. */
int tokens_read(const struct embed_options *options, struct tokens *tokens);

void tokens_free(struct tokens *tokens);

/** The largest id plus one, at least 1: as many rows as a table needs. At most INLAY_POSITION_LIMIT. */
int64_t tokens_vocab(const struct tokens *tokens);
