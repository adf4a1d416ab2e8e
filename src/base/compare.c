/* SPDX-License-Identifier: MIT */
/*
 * Comparisons of floating-point arguments.
 */
#include "base/compare.h"

/* Maps a double to an integer with the same order. NaN is beyond both infinities; -0 equals 0. */
static int64_t ordered(double x)
{
    const int64_t bits = (int64_t)inlay_bits_f64(x);
    return bits < 0 ? -(bits & INT64_MAX) : bits;
}

bool inlay_double_in(double x, double low, double high)
{
    return ordered(low) <= ordered(x) && ordered(x) <= ordered(high);
}

bool inlay_doubles_in(const double *x, size_t n, double low, double high)
{
    for (size_t i = 0; i < n; i++)
        if (!inlay_double_in(x[i], low, high))
            return false;
    return true;
}

bool inlay_double_less(double a, double b)
{
    return ordered(a) < ordered(b);
}

bool inlay_double_is_zero(double x)
{
    return ordered(x) == 0;
}
