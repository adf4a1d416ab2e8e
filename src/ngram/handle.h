/* SPDX-License-Identifier: MIT */
/*
 * The n-gram handle: a validated copy of the spec, and data prepared for the kernels. All arrays follow the struct in
 * the same allocation.
 */
#pragma once

#include "base/arguments.h"
#include "dispatch/kernels.h"

struct inlay_ngram {
    inlay_allocator allocator;
    size_t bytes; /* of the handle and its arrays, which outputs must not overlap */
    size_t vocab, column_count;
    uint32_t length, pad;
    bool adds, zero_is_none;
    const uint32_t *token_map;   /* the caller's; null: none */
    uint64_t *resets, *masks;    /* bitmaps over the vocabulary: bit i % 64 of word i / 64; null: no ids */
    uint64_t *multipliers;       /* [vectors, length] */
    inlay_ngram_column *columns; /* [column_count] */
    uint32_t *same_table;        /* [column_count] 1 + index of the previous column with the same table; 0: none */
    double *inverses;            /* [column_count] 1 / modulus */
};

/* True if an id is in a bitmap, which may be null. */
static inline bool inlay_ngram_in(const uint64_t *bitmap, size_t id)
{
    return bitmap != NULL && (bitmap[id / 64] >> id % 64 & 1) != 0;
}
