/* SPDX-License-Identifier: MIT */
/*
 * Exact phases, and the sines and cosines of them correctly rounded: the integer path. Included by sinusoid.c and
 * generator.c, which prepare what the SIMD kernels read and settle what they leave in doubt, and by scalar/kernels.c,
 * whose sinusoid it is. No floating-point operation.
 */
#ifndef INLAY_EXACT_H
#define INLAY_EXACT_H

#include "fixed.h"

#include <stddef.h>

/* The angle position * frequency, reduced: quadrant quarter turns plus or minus `turns`, 0 <= turns <= 1/8. */
struct inlay_phase {
    struct inlay_fixed turns;
    unsigned quadrant; /* 0 .. 3 */
    bool negative;
};

/* frequency: in turns per position, 0 < frequency < 1. */
struct inlay_phase inlay_phase_at(const struct inlay_fixed *frequency, uint32_t position);

/*
 * The same angle for kernels, which are content with less: the part within its quadrant, signed, in half turns, as a
 * double in [-1/4, 1/4] rounded to 53 significant bits. Relative to its own size, so that a sine next to a multiple of
 * pi keeps all its digits.
 */
double inlay_phase_half_turns(const struct inlay_fixed *frequency, uint32_t position, unsigned *quadrant);

/* Numbers in [0, 1) of 256 bits, most significant limb first: what the series are summed in. */
struct inlay_fraction {
    uint64_t limb[INLAY_FIXED_LIMBS - 1];
};

/* The coefficients 1/n! of the series of sine (odd n) and cosine (even n), n >= 2. */
enum { INLAY_TAYLOR_TERMS = 46 };
struct inlay_taylor {
    struct inlay_fraction coefficient[INLAY_TAYLOR_TERMS];
};

void inlay_taylor_init(struct inlay_taylor *taylor);

/* sin and cos of a phase as bits of binary32, correctly rounded: to nearest even, once. */
struct inlay_sincos_f32 {
    uint32_t sin, cos;
};
struct inlay_sincos_f32 inlay_exact_sincos_f32(const struct inlay_taylor *taylor, const struct inlay_phase *phase);

/* sin and cos of a phase as doubles, rounded to 53 significant bits. */
struct inlay_sincos_f64 {
    double sin, cos;
};
struct inlay_sincos_f64 inlay_exact_sincos_f64(const struct inlay_taylor *taylor, const struct inlay_phase *phase);

/* The bits of sqrt(n), correctly rounded to binary32. */
uint32_t inlay_exact_sqrt_f32(uint64_t n);

#endif
