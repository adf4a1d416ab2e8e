/* SPDX-License-Identifier: MIT */
/*
 * The recipes of inlay_recipe: how each framework computes its angles, in floating point and in its order of
 * operations. They compute with floats and so need the guarded environment of base/fpenv.h.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>

enum inlay_precision { INLAY_SINGLE, INLAY_DOUBLE };

/* The arithmetic of a recipe: a factor per pair, computed once, and the angles derived from it. */
struct inlay_angles {
    enum inlay_precision precision; /* of angles computed from positions */
    bool divides;                   /* an angle is position / factor, not position * factor */
};

/* Writes the factors [pairs] of a spec whose angles are not exact: frequencies, or divisors of positions. */
void inlay_angles_prepare(const inlay_sinusoid_spec *spec, size_t pairs, double *factors);

/* Writes the angles [n] of a position in radians, for factors [n]. */
void inlay_angles_compute(const struct inlay_angles *arithmetic, const double *factors, size_t n, double position,
                          double *angles);

/* Returns the arithmetic of a spec's angles, or null if they are exact: the real products of position and frequency. */
const struct inlay_angles *inlay_angles_of(const inlay_sinusoid_spec *spec);
