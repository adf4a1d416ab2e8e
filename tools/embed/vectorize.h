/* SPDX-License-Identifier: MIT */
/*
 * Text vectorization as Keras' TextVectorization does it, adapted on the very texts it is applied to: ASCII
 * lower-case, the 32 ASCII punctuation marks deleted, split on ASCII white space; every other byte is kept as it is.
 * It stands alone and must not print.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "inputs/ids.h"
#include "text.h"

/** The ids of the words of each text, and the vocabulary. Everything it points to is its own. */
struct vectorized {
    size_t vocab;             /**< words in the vocabulary */
    struct inlay_text *words; /**< [vocab]; 0 is the padding '', 1 is [UNK] */
    struct id_lists lists;    /**< one of each text; ids are never 0 */
    char *letters;            /**< the bytes that words point to */
};

/**
 * Vectorizes texts [count]. The vocabulary is ordered by falling frequency, ties by falling word (byte by byte), and
 * cut to max_tokens entries (0: not cut), at least 2; the words cut off become [UNK]. False where memory ran out. The
 * caller frees *result in any case.
 */
bool vectorize(const struct inlay_text *texts, size_t count, size_t max_tokens, struct vectorized *result);

/** Frees what vectorize made. */
void vectorized_free(struct vectorized *result);
