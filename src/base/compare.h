/* SPDX-License-Identifier: MIT */
/*
 * Comparisons of floating-point arguments as bits, which raise no floating-point exception in the caller's environment.
 */
#ifndef INLAY_BASE_COMPARE_H
#define INLAY_BASE_COMPARE_H

#include <stdbool.h>

/* Whether low <= x <= high, for 0 <= low; not for NaN. */
bool inlay_double_in(double x, double low, double high);

/* Whether low <= x <= high, for 0 <= low; not for NaN. A float that becomes a double would be an operation. */
bool inlay_float_in(float x, float low, float high);

/* Whether a < b, neither being negative; a NaN counts as larger than every number. */
bool inlay_double_less(double a, double b);

/* Whether x is 0 or -0. */
bool inlay_double_is_zero(double x);

#endif
