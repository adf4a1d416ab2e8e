/* SPDX-License-Identifier: MIT */
/*
 * The comparisons of compare.h.
 */
#include "base/compare.h"

#include "base/bits.h"

/* Compared as bits, which orders positive doubles and puts negative ones and NaN above them: no floating-point
   exception can be raised in the host's environment. */
static uint64_t bits_of(double x)
{
    const uint64_t bits = inlay_bits_f64(x);
    return bits == UINT64_C(1) << 63 ? 0 : bits; /* -0 is 0 */
}

bool inlay_double_in(double x, double low, double high)
{
    return bits_of(low) <= bits_of(x) && bits_of(x) <= bits_of(high);
}

bool inlay_doubles_in(const double *x, size_t n, double low, double high)
{
    for (size_t i = 0; i < n; i++)
        if (!inlay_double_in(x[i], low, high))
            return false;
    return true;
}

static uint32_t float_bits_of(float x)
{
    const uint32_t bits = inlay_bits_f32(x);
    return bits == UINT32_C(1) << 31 ? 0 : bits; /* -0 is 0 */
}

bool inlay_float_in(float x, float low, float high)
{
    return float_bits_of(low) <= float_bits_of(x) && float_bits_of(x) <= float_bits_of(high);
}

bool inlay_double_less(double a, double b)
{
    return bits_of(a) < bits_of(b);
}

bool inlay_double_is_zero(double x)
{
    return bits_of(x) == 0;
}
