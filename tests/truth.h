/* SPDX-License-Identifier: MIT */
/*
 * What an entry of a sinusoid table has to be, by MPFR alone: nothing here knows how the library computes. Included by
 * verify.c.
 */
#ifndef INLAY_TESTS_TRUTH_H
#define INLAY_TESTS_TRUTH_H

#include <inlay/inlay.h>

#include <mpfr.h>
#include <stdbool.h>

/*
 * The frequency of one pair of a spec. Made once, asked at many positions: an angle is then a product, whose whole
 * quarter turns are dropped.
 */
struct truth {
    const inlay_sinusoid_spec *spec; /* outlives this */
    size_t pair;
    bool still; /* a frequency of 0 */
    /* Quarter turns per position, to two precisions; per radian where angles are computed in floats. */
    mpfr_t near, far;
    /* Whether they are, and of what then: frequency or divisor. */
    bool floats;
    double factor;
};

struct truth_entries {
    uint32_t sin, cos; /* the bits, in the type asked for */
};

void truth_init(struct truth *truth, const inlay_sinusoid_spec *spec, size_t pair);
void truth_clear(struct truth *truth);

/* The sine and the cosine at a position, times the spec's amplitude. Ends the program where 512 bits do not decide. */
struct truth_entries truth_at(const struct truth *truth, double position, inlay_element_type type);

/* power = base^(-numerator / denominator), in the precision of `power`, which may be `base`. */
void truth_power(mpfr_t power, mpfr_t base, size_t numerator, size_t denominator);

/* The bits of x, and of what is between floats the nearest; ties go to even. */
uint32_t truth_rounded(double x, inlay_element_type type);

/*
 * The positions below 2^31 whose angles come nearest to a multiple of pi/2, the nearest last; how many there are, up to
 * n. By the continued fraction of the frequency: its convergents are the best approximations. None where angles are
 * floats, or frequencies too small or too simple to have any.
 */
size_t truth_nearest(const struct truth *truth, uint32_t *positions, size_t n);

/* The double next to the real-valued position at so many quarter turns; not below 2^31 in magnitude: 1. */
double truth_position_of(const struct truth *truth, double quarters);

/* The amplitude that a recipe has of itself, sqrt(2 / dim) or 1. */
double truth_amplitude(inlay_recipe recipe, size_t dim);

#endif
