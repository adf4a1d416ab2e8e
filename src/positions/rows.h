/* SPDX-License-Identifier: MIT */
/*
 * The rows of one public call, cut into parts for the executor. Each part guards the environment of its own thread.
 */
#pragma once

#include "positions/generator.h"

struct inlay_rows {
    void (*fill)(const struct inlay_rows *rows); /* writes all rows */
    const struct inlay_kernels *kernels;         /* set by inlay_rows_run() */
    const inlay_sinusoid *sinusoid;
    struct inlay_positions positions;
    size_t n;
    inlay_element_type type;
    inlay_rotary_layout layout; /* of rotary tables */
    bool stream;                /* set by inlay_rows_run(): with non-temporal stores, which it fences */
    unsigned char *out;         /* the cosines of rotary tables */
    unsigned char *sin;         /* the sines of rotary tables, else null */
    size_t out_stride_bytes;
    size_t blocks, parts; /* set by inlay_rows_run(): blocks of INLAY_ANCHOR_ROWS rows, and parts of whole blocks */
};

/* Writes all rows, validated by the caller, in parts that run on the executor's threads. */
void inlay_rows_run(struct inlay_rows *rows, const inlay_executor *executor);

/* The same for positions from `first` on; INLAY_ERROR_POSITION if there are not as many. */
inlay_status inlay_rows_run_from(struct inlay_rows *rows, int64_t first, const inlay_executor *executor);
