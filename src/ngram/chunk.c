/* SPDX-License-Identifier: MIT */
/*
 * The runs of a chunk: which columns are reduced in lanes, and whether these share a sum or have one each.
 */
#include "ngram/chunk.h"

static bool in_lanes(const inlay_ngram *ngram, size_t c)
{
    const uint32_t modulus = ngram->columns[c].modulus;
    return modulus >= INLAY_NGRAM_LANES_LEAST && modulus < INLAY_NGRAM_LANES_LIMIT;
}

/* Returns how many columns from c on, below `end`, are reduced as c is, each by the sum `step` after that before. */
static size_t run_length(const inlay_ngram *ngram, size_t c, size_t end, uint32_t step)
{
    size_t n = 1;
    while (c + n < end && ngram->sum_of[c + n] == ngram->sum_of[c + n - 1] + step &&
           in_lanes(ngram, c + n) == in_lanes(ngram, c))
        n++;
    return n;
}

void inlay_ngram_chunk_begin(struct inlay_ngram_chunk *chunk, const inlay_ngram *ngram,
                             const struct inlay_kernels *kernels, size_t first, size_t count)
{
    const uint32_t first_sum = ngram->sum_of[first];
    size_t runs = 0;
    for (size_t c = first; c < first + count; runs++) {
        const size_t shared = run_length(ngram, c, first + count, 0), stepped = run_length(ngram, c, first + count, 1);
        const size_t n = inlay_most(shared, stepped);
        chunk->runs[runs] = (struct inlay_ngram_run){
            .first = (uint32_t)(c - first),
            .count = (uint32_t)n,
            .sum = ngram->sum_of[c] - first_sum,
            .step = stepped > shared,
            .in_lanes = in_lanes(ngram, c),
        };
        c += n;
    }
    chunk->kernel = kernels->ngram_rows;
    chunk->call = (struct inlay_ngram_tile){
        .multipliers = ngram->multipliers,
        .columns = ngram->columns + first,
        .length = ngram->length,
        .count = count,
        .adds = ngram->adds,
        .rows = chunk->rows,
        .rows_stride = count,
        .sums = ngram->sums + first_sum,
        .runs = chunk->runs,
        .sum_count = ngram->sum_of[first + count - 1] - first_sum + 1,
        .run_count = runs,
        .moduli = ngram->moduli + first,
        .offsets = ngram->offsets + first,
        .inverses = ngram->inverses + first,
    };
}
