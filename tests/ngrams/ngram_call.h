/* SPDX-License-Identifier: MIT */
/*
 * What a drawn call of n-grams is: its arrays, and what it must come to. ngrams_draw.h fills it in, ngrams.h runs it.
 */
#pragma once

#include "calls.h"

/* The most tokens, sequences, columns of all tokens, and bytes of an output that are drawn; extents of a table, and
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
    bool gathers;   /* whether the tables have all rows of the columns */
    size_t columns; /* of the lookup */
    size_t token_stride, out_bytes;
    inlay_executor executor;
    bool threads; /* whether the executor is used */
    /* What the call must come to. */
    inlay_status status;
    inlay_fault fault;
};
