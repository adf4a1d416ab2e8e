/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid handle, and the generator of its rows: exact phases for the kernels in use. Included by the public
 * functions that write sinusoids (sinusoid.c, layer.c) and by the pass that computes rows on its way (embed.c).
 */
#ifndef INLAY_SINUSOID_H
#define INLAY_SINUSOID_H

#include "exact.h"
#include "kernels.h"

#include <inlay/inlay.h>

struct inlay_sinusoid {
    inlay_allocator allocator;
    size_t dim;
    size_t pairs; /* ceil(dim / 2) */
    inlay_layout layout;
    struct inlay_taylor taylor;
    struct inlay_fixed frequencies[]; /* [pairs], turns per position */
};

/* Consecutive columns of a row, as they lie in a piece of it. */
struct inlay_columns {
    size_t first; /* in the row */
    size_t count;
    size_t at; /* in the piece */
};

/* The columns that pairs [first, first + pairs) fill: one run of them, or two where the layout splits them. Returns how
   many runs there are; a piece of all of them has runs[0].count + runs[1].count columns. */
int inlay_sinusoid_columns(const inlay_sinusoid *sinusoid, size_t first, size_t pairs, struct inlay_columns runs[2]);

/* Writes the columns of pairs [first, first + pairs) at `position` to a piece: float32, any address. Runs kernels, so
   the floating-point environment must be guarded. */
void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid, uint32_t position,
                         size_t first, size_t pairs, unsigned char *piece);

/* Writes whole rows [position, position + n). Runs kernels, as above. */
void inlay_sinusoid_fill_rows(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid, uint32_t position,
                              size_t n, unsigned char *out, size_t out_stride_bytes);

#endif
