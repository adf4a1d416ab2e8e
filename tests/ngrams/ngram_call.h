/* SPDX-License-Identifier: MIT */
/*
 * A drawn call of n-grams: its arrays, and the expected result. ngrams_draw.h draws it, ngrams.h runs it.
 */
#pragma once

#include "support/calls.h"

/* Limits of drawn calls: tokens, sequences, columns of all tokens, and bytes of an output; extents per table, and
   tables. */
enum {
    NGRAM_TOKENS = 1200,
    NGRAM_SEQUENCES = 300,
    NGRAM_CELLS = 1 << 15,
    NGRAM_OUT_BYTES = 1 << 19,
    NGRAM_EXTENTS = 4,
    NGRAM_TABLES = 4
};

struct ngram_call {
    inlay_ngram_spec spec;
    inlay_ngram *ngram;
    inlay_ngram_batch batch;
    size_t tokens;
    const int64_t *accepted;
    inlay_table tables[NGRAM_TABLES];
    inlay_table_extent extents[NGRAM_TABLES][NGRAM_EXTENTS];
    const inlay_table *pointers[NGRAM_TABLES];
    inlay_tuning tuning;
    inlay_ngram_lookup lookup;
    bool gathers;   /* the tables have all rows of the columns */
    size_t columns; /* of the lookup */
    size_t token_stride, out_bytes;
    inlay_executor executor;
    bool threads; /* use the executor */
    /* The expected result. */
    inlay_status status;
    inlay_fault fault;
};
