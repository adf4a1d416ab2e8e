/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid handle, and the generator of its rows: exact phases for the kernels in use. Included by the public
 * functions that write sinusoids (sinusoid.c, layer.c) and by the pass that computes rows on its way (embed.c).
 */
#ifndef INLAY_SINUSOID_H
#define INLAY_SINUSOID_H

#include "exact.h"
#include "kernels.h"
#include "policy.h"

#include <inlay/inlay.h>

struct inlay_sinusoid {
    inlay_allocator allocator;
    size_t dim;
    size_t pairs; /* ceil(dim / 2) */
    inlay_layout layout;
    struct inlay_taylor taylor;
    double *sin_step, *cos_step;      /* [pairs, padded]: of one position's angle; behind the frequencies */
    struct inlay_fixed frequencies[]; /* [pairs], turns per position */
};

/* Consecutive columns of a row, as they lie in a piece of it. */
struct inlay_columns {
    size_t first; /* in the row */
    size_t count;
    size_t at; /* in the piece */
};

/* The columns that pairs [first, first + pairs) fill: one run of them, or two where the layout splits them. Returns how
   many runs there are. In a piece of their own the first run comes first and the second behind it. */
int inlay_sinusoid_columns(const inlay_sinusoid *sinusoid, size_t first, size_t pairs, struct inlay_columns runs[2]);

/*
 * Generates rows of consecutive positions for pairs [first, first + pairs), pairs <= INLAY_GENERATOR_PAIRS: 16 KiB of
 * state, for the stack. Runs kernels, so the floating-point environment must be guarded.
 */
struct inlay_generator {
    const struct inlay_kernels *kernels;
    const inlay_sinusoid *sinusoid;
    size_t first, pairs;
    uint32_t position;     /* of the next row */
    unsigned since_anchor; /* rows generated from the present state */
    _Alignas(64) double sin[INLAY_GENERATOR_PAIRS];
    _Alignas(64) double cos[INLAY_GENERATOR_PAIRS];
    _Alignas(64) double sin_bound[INLAY_GENERATOR_PAIRS];
    _Alignas(64) double cos_bound[INLAY_GENERATOR_PAIRS];
};

/* The next row is that of `position`. */
void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, uint32_t position);

/*
 * Writes the next n rows: float32, sine i of a row at element i of `sin` and cosine i at element i of `cos` where the
 * layout is split, both interleaved from `sin` on where it is not. `stream`: past the caches, where every row's sin and
 * cos lie on a cache line; the caller fences.
 */
void inlay_generator_rows(struct inlay_generator *generator, size_t n, unsigned char *sin, unsigned char *cos,
                          size_t stride_bytes, bool stream);

/* Writes whole rows [position, position + n); the same of `stream`, at any address. */
void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid, uint32_t position,
                         size_t n, unsigned char *out, size_t out_stride_bytes, bool stream);

#endif
