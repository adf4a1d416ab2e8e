/* SPDX-License-Identifier: MIT */
/*
 * Text vectorization as Keras' TextVectorization does it, adapted on the very texts it is applied to: ASCII
 * lower-case, the 32 ASCII punctuation marks deleted, split on ASCII white space; every other byte is kept as it is.
 * It stands alone and must not print.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Some bytes, not terminated. */
struct text {
    const char *bytes;
    size_t size;
};

/** The ids of the words of each text, and the vocabulary. Everything it points to is its own. */
struct vectorized {
    size_t vocab;       /**< words in the vocabulary */
    struct text *words; /**< [vocab]; 0 is the padding '', 1 is [UNK] */
    size_t sequences;   /**< as many as texts */
    size_t *offsets;    /**< [sequences + 1]: the ids of text i are ids[offsets[i]] to ids[offsets[i + 1] - 1] */
    int64_t *ids;       /**< never 0 */
    char *letters;      /**< the bytes that words point to */
};

/**
 * Vectorizes texts [count]. The vocabulary is ordered by falling frequency, ties by falling word (byte by byte), and
 * cut to max_tokens entries (0: not cut), at least 2; the words cut off become [UNK]. False where memory ran out. The
 * caller frees *result in any case.
 */
bool vectorize(const struct text *texts, size_t count, size_t max_tokens, struct vectorized *result);

/** Frees what vectorize made. */
void vectorized_free(struct vectorized *result);
