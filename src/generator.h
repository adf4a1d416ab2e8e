/* SPDX-License-Identifier: MIT */
/*
 * The generator of sinusoid rows: exact anchors, the kernels between them, entries in doubt computed exactly. Included
 * by what writes whole rows (sinusoid.c, layer.c) and by the pass that computes rows on its way (embed.c).
 */
#ifndef INLAY_GENERATOR_H
#define INLAY_GENERATOR_H

#include "kernels.h"
#include "policy.h"
#include "sinusoid.h"

/*
 * Generates rows of consecutive positions for pairs [first, first + pairs), pairs <= INLAY_GENERATOR_PAIRS: 8 KiB of
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
 * cos lie on a cache line; the caller fences. Where the layout is interleaved `cos` is not looked at.
 */
void inlay_generator_rows(struct inlay_generator *generator, size_t n, unsigned char *sin, unsigned char *cos,
                          size_t stride_bytes, bool stream);

/* Writes whole rows [position, position + n); the same of `stream`, at any address. */
void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid, uint32_t position,
                         size_t n, unsigned char *out, size_t out_stride_bytes, bool stream);

#endif
