/* SPDX-License-Identifier: MIT */
/*
 * The normal distribution. Uses only additions, products, quotients and conversions, each rounded as defined by IEEE
 * 754, since the last bits of libm's functions differ between machines. Runs in the guarded floating-point environment.
 */
#pragma once

/* Returns the quantile of the standard normal distribution at `below`; `above` is 1 - below. Uses the smaller one of
   the two, 2^-200 <= smaller <= 1/2. The relative error is at most 2^-49. */
double inlay_normal_quantile(double below, double above);

/* Returns the probability below x <= 0 in the standard normal distribution, with a relative error of at most 2^-48; 0
   for x < -20. */
double inlay_normal_below(double x);
