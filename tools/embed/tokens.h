/* SPDX-License-Identifier: MIT */
/*
 * Turns the inputs of `inlay embed` (texts, text files or lists of ids) into token ids. Texts are vectorized as by
 * Keras' TextVectorization after adapt() on the same texts. This part does not use tables. The library checks if the
 * table has a row for each id.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "embed/options.h"
#include "inputs/ids.h"
#include "text.h"

/** Token ids [sequences, length]. Shorter sequences are padded with id 0, except for the layer of a model, where 0 is
    an ordinary token. */
struct tokens {
    size_t sequences;
    size_t length;    /**< length of the longest sequence */
    size_t count;     /**< number of ids, including padding */
    int64_t *ids;     /**< [count] */
    int64_t *offsets; /**< [sequences + 1]: sequence s is ids[offsets[s]] to ids[offsets[s + 1] - 1] */

    size_t vocab;             /**< for texts: number of words in the vocabulary */
    struct inlay_text *words; /**< [vocab]: word 0 is '', for padding, and word 1 is [UNK]; null if the input is ids */
    struct id_lists lists;    /**< sequences before padding and truncation */
    char **letters;           /**< [sequences]: the bytes that words point to */
};

/** Reads, vectorizes, pads and truncates. The vocabulary is sorted by descending frequency, ties by descending word
    (bytewise), and truncated to --max-tokens words. */
int tokens_read(const struct embed_options *options, struct tokens *tokens);

/** Returns the number of table rows that the tokens need: the size of the vocabulary, or the largest id plus one. The
    result is at most INLAY_POSITION_LIMIT. */
size_t tokens_vocab(const struct tokens *tokens);
