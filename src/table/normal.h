/* SPDX-License-Identifier: MIT */
/*
 * The normal distribution. Floating point is confined to additions, products, quotients and conversions, each rounded
 * as IEEE 754 defines it, since the last bits of libm's functions differ between machines. Runs in the guarded
 * floating-point environment.
 */
#pragma once

/* Returns the quantile of the standard normal distribution at `below`; `above` is 1 - below, and the smaller one of the
   two is used, 2^-200 <= smaller <= 1/2. The error is at most 2^-49 of the result. */
double inlay_normal_quantile(double below, double above);

/* Returns the share of the standard normal distribution below x <= 0, to within 2^-48 of its size; 0 for x < -20. */
double inlay_normal_below(double x);
