/* SPDX-License-Identifier: MIT */
/*
 * A chunk: some columns one behind the other, as the hash kernel takes them, and the rows that it finds for a few
 * tokens.
 */
#ifndef INLAY_NGRAM_CHUNK_H
#define INLAY_NGRAM_CHUNK_H

#include "ngram/handle.h"
#include "ngram/window.h"

/* Rows that a chunk has room for. */
enum { INLAY_NGRAM_ROWS = 512 };

struct inlay_ngram_chunk {
    struct inlay_ngram_tile call;
    void (*kernel)(const struct inlay_ngram_tile *tile);
    struct inlay_ngram_run runs[INLAY_NGRAM_CHUNK];
    uint64_t rows[INLAY_NGRAM_ROWS + INLAY_NGRAM_LANES];
};

/* Returns for how many tokens a chunk of that many columns has room. */
static inline size_t inlay_ngram_chunk_tokens(size_t columns)
{
    return inlay_least(INLAY_NGRAM_ROWS / inlay_least(columns, INLAY_NGRAM_CHUNK), INLAY_NGRAM_TOKENS);
}

/* Begins a chunk of columns [first, first + count), 1 <= count <= INLAY_NGRAM_CHUNK. */
void inlay_ngram_chunk_begin(struct inlay_ngram_chunk *chunk, const inlay_ngram *ngram,
                             const struct inlay_kernels *kernels, size_t first, size_t count);

/* Finds the rows [tokens, count] of windows. Runs a kernel. */
static inline void inlay_ngram_chunk_hash(struct inlay_ngram_chunk *chunk, const uint32_t *windows, size_t tokens)
{
    chunk->call.windows = windows;
    chunk->call.tokens = tokens;
    chunk->kernel(&chunk->call);
}

#endif
