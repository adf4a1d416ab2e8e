/* SPDX-License-Identifier: MIT */
/*
 * The recipes of inlay_recipe: how each framework computes its angles, in floating point and in its order of
 * operations. Included by sinusoid.c. What is called through a struct inlay_angles computes in floats: it needs the
 * guarded environment.
 */
#ifndef INLAY_RECIPE_H
#define INLAY_RECIPE_H

#include <inlay/inlay.h>

/* Frequencies (or divisors) [pairs] prepared once, and the angles that follow from them. */
struct inlay_angles {
    void (*prepare)(const inlay_sinusoid_spec *spec, size_t pairs, double *factors);
    /* angles[i] for factors[i], 0 <= i < n, in radians. */
    void (*compute)(const double *factors, size_t n, double position, double *angles);
};

/* Null for INLAY_RECIPE_EXACT, whose angles are real numbers, unless the caller's frequencies ask for float angles. */
const struct inlay_angles *inlay_angles_of(const inlay_sinusoid_spec *spec);

#endif
