/* SPDX-License-Identifier: MIT */
/*
 * Integer comparisons of floating-point arguments, which raise no floating-point exception in the caller's environment.
 */
#pragma once

#include "base/bits.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns true if low <= x <= high; false for NaN. */
bool inlay_double_in(double x, double low, double high);

/* Returns true if low <= x[i] <= high for every i in [0, n). */
bool inlay_doubles_in(const double *x, size_t n, double low, double high);

/* Returns true if 0 <= x <= high; false for NaN. Avoids converting to double, which is a floating-point operation. */
static inline bool inlay_float_within(float x, float high)
{
    const uint32_t bits = inlay_bits_f32(x), minus_zero = UINT32_C(1) << 31;
    return bits <= inlay_bits_f32(high) || bits == minus_zero;
}

/* Returns true if a < b. NaN counts as larger than every number, or as smaller if its sign bit is set. */
bool inlay_double_less(double a, double b);

/* Returns true if x is 0 or -0. */
bool inlay_double_is_zero(double x);
