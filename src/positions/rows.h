/* SPDX-License-Identifier: MIT */
/*
 * The rows of one public call, split into parts for the executor. Each part guards its own thread's environment.
 */
#pragma once

#include "positions/generator.h"

struct inlay_rows {
    void (*fill)(const struct inlay_rows *rows); /* writes all rows */
    const inlay_sinusoid *sinusoid;
    size_t n;
    unsigned char *out; /* the cosines of rotary tables */
    size_t out_stride_bytes;
    inlay_element_type type;
    inlay_rotary_layout layout; /* of rotary tables */
    unsigned char *sin;         /* the sines of rotary tables, else null */
    struct inlay_positions positions;
    /* Set when they run. */
    const struct inlay_kernels *kernels;
    bool stream;          /* uses non-temporal stores, which are fenced */
    size_t blocks, parts; /* blocks of INLAY_ANCHOR_ROWS rows, and parts of whole blocks */
};

/* Returns the number of rows that a handle caches, given its spec's cached_positions. */
size_t inlay_cached_rows(size_t cached_positions, size_t dim);

/* Writes the rows of positions [0, rows), float32 and contiguous. */
void inlay_fill_cache(const inlay_sinusoid *sinusoid, size_t rows, unsigned char *cache);

/* Writes all rows, validated by the caller, of positions from `first` on, in parts on the executor's threads. Returns
   INLAY_OK, or INLAY_ERROR_POSITION if the positions exceed the limit. */
inlay_status inlay_rows_run_from(struct inlay_rows *rows, int64_t first, const inlay_executor *executor);
