/* SPDX-License-Identifier: MIT */
/*
 * The thresholds that decide how work is cut and how it leaves the core, each with its reason. Those that a layer's
 * spec can override have their value in the public header or, where CPUs differ, in cpu.c. Included by what cuts work.
 */
#ifndef INLAY_POLICY_H
#define INLAY_POLICY_H

#include "cpu.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* Tokens whose pointers one kernel call gets. */
enum { INLAY_TILE_TOKENS = 128 };

/* A part of a call that another thread takes: what it writes should take longer than handing it over does, a few us. */
enum { INLAY_PART_BYTES = 64 * 1024, INLAY_PARTS_PER_THREAD = 4 };

/* Positions that a part computes, at the least: the anchor that it begins with costs as much as some three rows. */
enum { INLAY_PART_POSITIONS = 64 };

/* Rows that are asked for ahead at the most: their pointers are carried from one kernel call to the next. */
enum { INLAY_MOST_AHEAD = 32 };

/* Rows of sinusoids go past the caches where they are more than this. Nothing is read for them, so that an L3, however
   fast, does not help: to leave 4 MiB there took 5 % longer. */
enum { INLAY_FILL_BYTES = 1024 * 1024 };

/* What a layer's spec can override. */
struct inlay_tuning {
    inlay_stores stores;
    size_t near_bytes;    /* where the rows of a call take no more than this, L2 may hold them */
    size_t stream_bytes;  /* automatic stores: outputs larger than this go past the caches */
    size_t compute_bytes; /* one sequence: position rows of more bytes than this are computed even if they are held */
    size_t block_bytes;   /* position rows that stay in L1 while the batch consumes them */
    size_t prefetch_rows; /* how many rows ahead of the one being read the next ones are asked for; 0: not at all */
};

/* Rows ahead, for token rows of so many bytes. */
static inline size_t inlay_prefetch_rows(size_t prefetch_bytes, size_t row_bytes)
{
    if (prefetch_bytes == 0 || row_bytes == 0)
        return 0;
    size_t rows = prefetch_bytes / row_bytes;
    return rows < 1 ? 1 : rows < INLAY_MOST_AHEAD ? rows : INLAY_MOST_AHEAD;
}

/* What operations without a layer have. */
static inline struct inlay_tuning inlay_default_tuning(const inlay_rows *tokens)
{
    return (struct inlay_tuning){
        INLAY_STORES_AUTOMATIC,
        INLAY_NEAR_BYTES_DEFAULT,
        inlay_cpu()->stream_bytes,
        SIZE_MAX, /* they have no sinusoid */
        INLAY_BLOCK_BYTES_DEFAULT,
        inlay_prefetch_rows(INLAY_PREFETCH_BYTES_DEFAULT, inlay_row_bytes(tokens->type, tokens->dim)),
    };
}

static inline bool inlay_streams(inlay_stores stores, size_t stream_bytes, size_t bytes)
{
    return stores == INLAY_STORES_AUTOMATIC ? bytes > stream_bytes : stores == INLAY_STORES_STREAMED;
}

#endif
