/* SPDX-License-Identifier: MIT */
/*
 * The expected entry of a sinusoid table, from MPFR only, independent of the library's method.
 */
#pragma once

#include <inlay/inlay.h>

#include <mpfr.h>
#include <stdbool.h>

/*
 * The frequency of one pair of a spec, computed once and used for many positions. An angle is then a product without
 * its whole quarter turns.
 */
struct truth {
    const inlay_sinusoid_spec *spec; /* outlives this */
    size_t pair;
    bool still;       /* the frequency is 0 */
    mpfr_t near, far; /* quarter turns per position in two precisions; per radian if `floats` */
    bool floats;      /* angles are computed in floating point, from `factor`: a frequency or a divisor */
    double factor;
};

struct truth_entries {
    uint32_t sin, cos; /* bits of the type */
};

void truth_init(struct truth *truth, const inlay_sinusoid_spec *spec, size_t pair);
void truth_clear(struct truth *truth);

/* Returns the sine and cosine at a position, times the spec's amplitude. Ends the program if 512 bits are not
 * enough. */
struct truth_entries truth_at(const struct truth *truth, double position, inlay_element_type type);

/* Computes base^(-numerator / denominator) in the precision of `power`, which may be `base`. */
void truth_power(mpfr_t power, mpfr_t base, size_t numerator, size_t denominator);

/* Returns the bits of x rounded to nearest even. */
uint32_t truth_rounded(double x, inlay_element_type type);

/*
 * Writes the positions below 2^31 with angles closest to a multiple of pi/2, the closest last, and returns their
 * number, at most n. They are found from the continued fraction of the frequency, as its convergents are the best
 * approximations. There are none for floats, and for frequencies that are too small or too simple.
 */
size_t truth_nearest(const struct truth *truth, uint32_t *positions, size_t n);

/* Returns the double closest to the position where the angle is `quarters` quarter turns, or 1 if that is 2^31 or
   more. */
double truth_position_of(const struct truth *truth, double quarters);

/* Returns the amplitude of a recipe's preset, sqrt(2 / dim) or 1. */
double truth_amplitude(inlay_recipe recipe, size_t dim);
