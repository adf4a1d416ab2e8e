/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_kernels: what an ISA implements, one field per operation, with the numerical contract of each. Included
 * by the baseline code that calls the table and by <isa>/kernels.c that fill it. Kernels see pointers and counts; ids,
 * batches, policies and validation end before them.
 */
#ifndef INLAY_KERNELS_H
#define INLAY_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inlay_fixed;
struct inlay_taylor;

/* Rows that become out[i][0 .. columns) = rows[i][0 .. columns) * scale + positions[i][0 .. columns). */
struct inlay_embed_tile {
    const unsigned char *const *rows;      /* [count] float32 rows, any address */
    const unsigned char *const *positions; /* [count] float32 rows, any address; null: no such term */
    unsigned char *const *out;             /* [count] float32 rows, any address; may be rows[i] itself */
    size_t count;
    size_t columns;
    float scale;
    bool stream; /* non-temporal stores where the ISA has them; the caller fences */
};

/*
 * Pairs (sin, cos) of one position's row, for consecutive frequencies. The angles come twice on purpose: exactly, which
 * is all that the scalar kernel looks at, and reduced, which is all that the SIMD kernels look at.
 */
struct inlay_sinusoid_tile {
    /* The angles exactly: position * frequencies[i] turns. */
    const struct inlay_fixed *frequencies; /* [pairs] */
    const struct inlay_taylor *taylor;
    uint32_t position;
    /*
     * The same angles reduced: pi * half_turns[i], |half_turns[i]| <= 1/4, plus the quarter turns whose sine and cosine
     * are quadrant_sin[i] and quadrant_cos[i] (each 0, 1 or -1). Readable up to the next multiple of
     * INLAY_PAIRS_PADDING, where the values are zero.
     */
    const double *half_turns;
    const double *quadrant_sin;
    const double *quadrant_cos;
    size_t pairs;
    size_t cosines;     /* pairs, or pairs - 1 where the last frequency of an odd dim has no cosine */
    unsigned char *sin; /* float32, any address: sine i at element i, or at element 2i where interleaved */
    unsigned char *cos; /* float32: cosine i at element i; not looked at where interleaved (element 2i + 1 of sin) */
    bool interleaved;
};

enum { INLAY_PAIRS_PADDING = 16 };

struct inlay_kernels {
    const char *name;
    /*
     * The product is rounded, then the sum is rounded; no fused multiply-add. Scale 1 without positions copies all
     * bits. Bit-identical to scalar, the payload of a NaN excepted.
     */
    void (*embed_f32)(const struct inlay_embed_tile *tile);
    /* Scalar: correctly rounded. Others: within 0.51 ULP of the real number. */
    void (*sinusoid_f32)(const struct inlay_sinusoid_tile *tile);
};

extern const struct inlay_kernels inlay_kernels_scalar;
extern const struct inlay_kernels inlay_kernels_avx2;
extern const struct inlay_kernels inlay_kernels_avx512;
extern const struct inlay_kernels inlay_kernels_neon;

#endif
