/* SPDX-License-Identifier: MIT */
/*
 * The recipes of inlay_recipe: how each framework computes its angles, in floating point and in its order of
 * operations. The functions of a struct inlay_angles compute with floats and so need the guarded environment of
 * base/fpenv.h.
 */
#ifndef INLAY_POSITIONS_RECIPE_H
#define INLAY_POSITIONS_RECIPE_H

#include <inlay/inlay.h>

#include <stdbool.h>

enum inlay_precision { INLAY_SINGLE, INLAY_DOUBLE };

/* The arithmetic of a recipe: one factor per pair, computed once, and the angles that follow from it. */
struct inlay_angles {
    /* Writes the frequencies, or the divisors of positions, to factors [pairs]. */
    void (*prepare)(const inlay_sinusoid_spec *spec, size_t pairs, double *factors);
    enum inlay_precision precision; /* in which angles are computed from positions */
    bool divides;                   /* an angle is position / factor, not position * factor */
};

/* Writes the angles [n] of a position in radians, for factors [n]. */
void inlay_angles_compute(const struct inlay_angles *arithmetic, const double *factors, size_t n, double position,
                          double *angles);

/* Returns the arithmetic of a spec's angles, or null if they are exact: the real products of position and frequency. */
const struct inlay_angles *inlay_angles_of(const inlay_sinusoid_spec *spec);

#endif
