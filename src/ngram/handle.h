/* SPDX-License-Identifier: MIT */
/*
 * The n-gram handle: a validated spec, copied, with what the kernels need of its columns prepared. All arrays lie
 * behind the struct in one piece of memory.
 */
#pragma once

#include "base/arguments.h"
#include "dispatch/kernels.h"

struct inlay_ngram {
    inlay_allocator allocator;
    size_t bytes; /* of the handle and its arrays, which no output may overlap */
    size_t vocab, column_count;
    uint32_t length, pad;
    bool adds, zero_is_none;
    const uint32_t *token_map;   /* the caller's; null: none */
    uint64_t *resets, *masks;    /* bit i % 64 of word i / 64 says whether id i is one; null: none is */
    uint64_t *multipliers;       /* [vectors, length] */
    inlay_ngram_column *columns; /* [column_count] */
    uint32_t *same_table;        /* [column_count] one more than the column before with the same table; 0: none */
    double *inverses;            /* [column_count] 1 / modulus */
};

/* Whether an id is in a bitmap, which may be null. */
static inline bool inlay_ngram_in(const uint64_t *bitmap, size_t id)
{
    return bitmap != NULL && (bitmap[id / 64] >> id % 64 & 1) != 0;
}
