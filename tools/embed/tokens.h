/* SPDX-License-Identifier: MIT */
/*
 * From the inputs of `inlay embed` (texts, files of text or lists of ids) to token ids. Texts are vectorized as Keras'
 * TextVectorization does it, adapted on the very texts it is applied to. It knows nothing of tables: whether an id is a
 * row of one is the library's to say.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "embed/options.h"
#include "inputs/ids.h"
#include "text.h"

/** Token ids [sequences, length], shorter sequences padded with id 0; or without padding for the layer of a model, of
    whose tokens 0 is one. */
struct tokens {
    size_t sequences;
    size_t length;    /**< of the longest one */
    size_t count;     /**< of all ids, with the padding that is there */
    int64_t *ids;     /**< [count] */
    int64_t *offsets; /**< [sequences + 1]: where each begins and ends in ids */

    size_t vocab;             /**< words in the vocabulary, where the input is text */
    struct inlay_text *words; /**< [vocab]; 0 is the padding '', 1 is [UNK]; null where the input is ids */
    struct id_lists lists;    /**< the sequences before they are padded and cut */
    char **letters;           /**< [sequences]: the bytes that words point to */
};

/** Reads, vectorizes, pads and cuts. The vocabulary is ordered by falling frequency, ties by falling word (byte by
    byte), and cut to --max-tokens words. */
int tokens_read(const struct embed_options *options, struct tokens *tokens);

/** Returns how many rows a table needs, at most INLAY_POSITION_LIMIT: the words of the vocabulary, or the largest id
    plus one. */
size_t tokens_vocab(const struct tokens *tokens);
