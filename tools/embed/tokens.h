/* SPDX-License-Identifier: MIT */
/*
 * Turns the inputs of `inlay embed` (texts, text files or lists of ids) into token ids. Texts are vectorized like
 * Keras' TextVectorization after adapt() on these same texts. This part does not use tables; the library checks ids
 * against their rows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "embed/options.h"
#include "inputs/ids.h"
#include "text.h"

/** Token ids [sequences, length]; shorter sequences are padded with id 0. For the layer of a model, where 0 is an
    ordinary token, there is no padding. */
struct tokens {
    size_t sequences;
    size_t length;    /**< of the longest one */
    size_t count;     /**< of all ids, including padding */
    int64_t *ids;     /**< [count] */
    int64_t *offsets; /**< [sequences + 1]: sequence s is ids[offsets[s]] to ids[offsets[s + 1] - 1] */

    size_t vocab;             /**< words in the vocabulary, for texts */
    struct inlay_text *words; /**< [vocab]; 0 is the padding '', 1 is [UNK]; null for ids */
    struct id_lists lists;    /**< sequences before padding and truncation */
    char **letters;           /**< [sequences]: the bytes that words point to */
};

/** Reads, vectorizes, pads and truncates. The vocabulary is sorted by descending frequency, ties by descending word
    (bytewise), and truncated to --max-tokens words. */
int tokens_read(const struct embed_options *options, struct tokens *tokens);

/** Returns the number of table rows needed, at most INLAY_POSITION_LIMIT: the size of the vocabulary, or the largest id
    plus one. */
size_t tokens_vocab(const struct tokens *tokens);
