/* SPDX-License-Identifier: MIT */
/*
 * A chunk: consecutive columns, and the rows that the hash kernel computes in them for a few tokens.
 */
#pragma once

#include "ngram/pass.h"
#include "ngram/window.h"

/* The maximum columns of a chunk, and its capacity in rows. */
enum { INLAY_NGRAM_CHUNK = 64, INLAY_NGRAM_ROWS = 1024 };
_Static_assert(INLAY_NGRAM_ROWS / INLAY_NGRAM_CHUNK >= INLAY_NGRAM_LANES, "each column has room for whole lanes");

struct inlay_ngram_chunk {
    struct inlay_ngram_tile call;
    uint64_t rows[INLAY_NGRAM_ROWS];
};

/* Returns how many tokens fit in a chunk, in calls for `columns` columns. */
static inline size_t inlay_ngram_chunk_tokens(size_t columns)
{
    const size_t each = INLAY_NGRAM_ROWS / inlay_min(columns, INLAY_NGRAM_CHUNK);
    return inlay_min(each / INLAY_NGRAM_LANES * INLAY_NGRAM_LANES, INLAY_NGRAM_TOKENS);
}

/* Computes the rows of up to INLAY_NGRAM_CHUNK columns, from column `first` of the pass on. `places` are those of a
   walk. Runs a kernel. */
static inline void inlay_ngram_chunk_hash(struct inlay_ngram_chunk *chunk, const struct inlay_ngram_pass *pass,
                                          size_t first, const uint32_t *const *places, size_t tokens)
{
    const inlay_ngram *ngram = pass->input->ngram;
    chunk->call = (struct inlay_ngram_tile){
        .places = places,
        .multipliers = ngram->multipliers,
        .columns = ngram->columns + first,
        .inverses = ngram->inverses + first,
        .tokens = tokens,
        .length = ngram->length,
        .count = inlay_min(pass->first_column + pass->columns - first, INLAY_NGRAM_CHUNK),
        .adds = ngram->adds,
        .rows = chunk->rows,
        .rows_stride = (tokens + INLAY_NGRAM_LANES - 1) / INLAY_NGRAM_LANES * INLAY_NGRAM_LANES,
    };
    pass->transfers.kernels->ngram_rows(&chunk->call);
}
