/* SPDX-License-Identifier: MIT */
/*
 * Exact phases, and their sines and cosines: the exact fallback. All operations are integer operations.
 */
#pragma once

#include "base/fixed.h"

/* An angle without whole turns: `quadrant` quarter turns plus or minus `turns`, 0 <= turns <= 1/8. */
struct inlay_phase {
    struct inlay_fixed turns;
    unsigned quadrant; /* 0 .. 3 */
    bool negative;
};

/* Returns the phase of the angle x * frequency, with the frequency in turns, 0 <= frequency < 2^32. */
struct inlay_phase inlay_phase_of(const struct inlay_fixed *frequency, struct inlay_real x);

/*
 * Returns the same angle's part within its quadrant in half turns, signed, in [-1/4, 1/4], and sets *quadrant. Input of
 * kernels. It is rounded to 53 significant bits relative to its own size, so sines near a multiple of pi keep all their
 * digits.
 */
double inlay_phase_half_turns(const struct inlay_fixed *frequency, struct inlay_real x, unsigned *quadrant);

/* The coefficients 1/n! of the Taylor series of sine (odd n) and cosine (even n), n >= 2. */
enum { INLAY_TAYLOR_TERMS = 46 };
struct inlay_taylor {
    struct inlay_fixed coefficient[INLAY_TAYLOR_TERMS];
};

void inlay_taylor_init(struct inlay_taylor *taylor);

/* Returns the magnitude of the sine of a phase, within 2^-205 of the sine of the phase's `turns`, and sets its sign. A
   cosine is the sine of the next quadrant. */
struct inlay_fixed inlay_exact_sine(const struct inlay_taylor *taylor, const struct inlay_phase *phase, bool *negative);

/*
 * If the angle x * frequency, in radians, is less than 2^-80 but not 0, sets *value * 2^*exponent to its sine times
 * amplitude, with as many bits as rounding needs. Otherwise leaves both unchanged. Phases end at 2^-256, where such
 * angles have too few bits left.
 */
void inlay_exact_small_sine(struct inlay_real x, double frequency, double amplitude, struct inlay_fixed *value,
                            int *exponent);
