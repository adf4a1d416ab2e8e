/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_moves: how a call moves its rows, decided once before it runs: by which kernels, with which stores, and
 * what is prefetched.
 */
#ifndef INLAY_TILE_MOVES_H
#define INLAY_TILE_MOVES_H

#include "base/least.h"
#include "dispatch/kernels.h"
#include "dispatch/tuning.h"

struct inlay_moves {
    const struct inlay_kernels *kernels;
    size_t prefetch_rows; /* of a block that is prefetched together; 0: no prefetching */
    bool whole_rows;   /* prefetch whole rows to L2 while the block before them is read; else their first lines to L1,
                          before the block itself is read */
    bool between_rows; /* if whole_rows: each row is prefetched by the kernel, between the rows of the block before */
    bool narrow_moves; /* move 32 bytes at a time, where vectors are longer */
    bool stream;       /* non-temporal stores */
};

/* Returns whether an output of that many bytes is written by non-temporal stores. */
static inline bool inlay_streams(const struct inlay_kernels *kernels, inlay_stores stores, const inlay_tuning *tuning,
                                 size_t written_bytes)
{
    return kernels->streams &&
           (stores == INLAY_STORES_AUTOMATIC ? written_bytes > tuning->stream_bytes : stores == INLAY_STORES_STREAMED);
}

/* Returns how many rows of `row_bytes` make a block where whole rows are prefetched. */
static inline size_t inlay_block_rows(const inlay_tuning *tuning, size_t row_bytes)
{
    return inlay_most(inlay_least(tuning->prefetch_bytes / row_bytes, INLAY_PREFETCH_ROWS), 1);
}

#endif
