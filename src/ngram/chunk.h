/* SPDX-License-Identifier: MIT */
/*
 * A chunk: some columns one behind the other, and the rows that the hash kernel finds in them for a few tokens.
 */
#ifndef INLAY_NGRAM_CHUNK_H
#define INLAY_NGRAM_CHUNK_H

#include "ngram/handle.h"
#include "ngram/window.h"

/* The most columns of a chunk, and the rows that it has room for. */
enum { INLAY_NGRAM_CHUNK = 64, INLAY_NGRAM_ROWS = 1024 };
_Static_assert(INLAY_NGRAM_ROWS / INLAY_NGRAM_CHUNK >= INLAY_NGRAM_LANES, "each column has room for whole lanes");

struct inlay_ngram_chunk {
    struct inlay_ngram_tile call;
    void (*kernel)(const struct inlay_ngram_tile *tile);
    uint64_t rows[INLAY_NGRAM_ROWS];
};

/* Returns for how many tokens a chunk has room, of calls for that many columns. */
static inline size_t inlay_ngram_chunk_tokens(size_t columns)
{
    const size_t each = INLAY_NGRAM_ROWS / inlay_least(columns, INLAY_NGRAM_CHUNK);
    return inlay_least(each / INLAY_NGRAM_LANES * INLAY_NGRAM_LANES, INLAY_NGRAM_TOKENS);
}

/* Begins a chunk of columns [first, first + count), 1 <= count <= INLAY_NGRAM_CHUNK. */
static inline void inlay_ngram_chunk_begin(struct inlay_ngram_chunk *chunk, const inlay_ngram *ngram,
                                           const struct inlay_kernels *kernels, size_t first, size_t count)
{
    chunk->kernel = kernels->ngram_rows;
    chunk->call = (struct inlay_ngram_tile){
        .multipliers = ngram->multipliers,
        .columns = ngram->columns + first,
        .inverses = ngram->inverses + first,
        .length = ngram->length,
        .count = count,
        .adds = ngram->adds,
        .rows = chunk->rows,
        .rows_stride = inlay_ngram_chunk_tokens(count),
    };
}

/* Finds the rows of tokens, whose places are those of a walk. Runs a kernel. */
static inline void inlay_ngram_chunk_hash(struct inlay_ngram_chunk *chunk, const uint32_t *const *places, size_t tokens)
{
    chunk->call.places = places;
    chunk->call.tokens = tokens;
    chunk->kernel(&chunk->call);
}

/* Returns the row of column c of the chunk for token t. */
static inline uint64_t inlay_ngram_chunk_row(const struct inlay_ngram_chunk *chunk, size_t t, size_t c)
{
    return chunk->rows[c * chunk->call.rows_stride + t];
}

#endif
