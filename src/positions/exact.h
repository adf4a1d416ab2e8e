/* SPDX-License-Identifier: MIT */
/*
 * Exact phases, and the sines and cosines of them: the integer path. Included by sinusoid.h. No floating-point
 * operation.
 */
#ifndef INLAY_EXACT_H
#define INLAY_EXACT_H

#include "base/fixed.h"

#include <stddef.h>

/* +-mantissa * 2^exponent: a double, exactly; mantissa < 2^63, exponent 0 for every integer. */
struct inlay_real {
    uint64_t mantissa;
    int exponent; /* <= 0 */
    bool negative;
};

/* For |x| <= 2^62. */
struct inlay_real inlay_real_of(double x);

/* The angle x * frequency, reduced: quadrant quarter turns plus or minus `turns`, 0 <= turns <= 1/8. */
struct inlay_phase {
    struct inlay_fixed turns;
    unsigned quadrant; /* 0 .. 3 */
    bool negative;
};

/* frequency: in turns, 0 <= frequency < 2^32. */
struct inlay_phase inlay_phase_of(const struct inlay_fixed *frequency, struct inlay_real x);

/*
 * The same angle for kernels, which are content with less: the part within its quadrant, signed, in half turns, as a
 * double in [-1/4, 1/4] rounded to 53 significant bits. Relative to its own size, so that a sine next to a multiple of
 * pi keeps all its digits.
 */
double inlay_phase_half_turns(const struct inlay_fixed *frequency, struct inlay_real x, unsigned *quadrant);

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

/* The sine of a phase: its magnitude, within 2^-205 of that of the phase's turns, and its sign. A cosine is the sine a
   quarter turn on. */
struct inlay_fixed inlay_exact_sine(const struct inlay_taylor *taylor, const struct inlay_phase *phase, bool *negative);

/*
 * Where the angle x * frequency, in radians, is less than 2^-80 but not 0: its sine times amplitude, as *value *
 * 2^*exponent, with all the digits that rounding asks for. Else leaves both as they are. Phases end at 2^-256, so that
 * such angles have too few digits left there.
 */
void inlay_exact_small_sine(struct inlay_real x, double frequency, double amplitude, struct inlay_fixed *value,
                            int *exponent);

/* The bits of sqrt(n), correctly rounded to binary32. */
uint32_t inlay_exact_sqrt_f32(uint64_t n);

#endif
