/* SPDX-License-Identifier: MIT */
/*
 * Comparisons of floating-point arguments as bits, which raise no floating-point exception in the caller's environment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns whether low <= x <= high; false for NaN. */
bool inlay_double_in(double x, double low, double high);

/* Returns whether low <= x[i] <= high for every i in [0, n). */
bool inlay_doubles_in(const double *x, size_t n, double low, double high);

/* Returns whether 0 <= x <= high; false for NaN. Converting a float to a double would be a floating-point operation. */
bool inlay_float_within(float x, float high);

/* Returns whether a < b. A NaN counts as larger than every number, or as smaller if its sign bit is set. */
bool inlay_double_less(double a, double b);

/* Returns whether x is 0 or -0. */
bool inlay_double_is_zero(double x);
