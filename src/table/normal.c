/* SPDX-License-Identifier: MIT */
/*
 * Cumulative probabilities and quantiles of the normal distribution.
 */
#include "table/normal.h"

#include "base/bits.h"
#include "base/rounding.h"

/* Returns -ln x for a normal 0 < x <= 1/2, with a relative error of at most 2^-51. */
static double minus_log(double x)
{
    /* x = m 2^e with m in (sqrt(1/2), sqrt(2)), so ln x = e ln 2 + 2 atanh z with z = (m - 1) / (m + 1) and
       |z| < 0.1716. 11 terms of atanh's series leave a relative error below 2^-60. */
    const double log_2 = 0x1.62e42fefa39efp-1;
    const uint64_t fraction = (UINT64_C(1) << 52) - 1, one = UINT64_C(1023) << 52, sqrt_2 = UINT64_C(0x6a09e667f3bcc);
    const uint64_t bits = inlay_bits_f64(x);
    int exponent = (int)(bits >> 52) - 1023;
    double m = inlay_f64_of_bits((bits & fraction) | one);
    if ((bits & fraction) > sqrt_2) {
        m = m * 0.5;
        exponent++;
    }
    double z = (m - 1) / (m + 1), z_squared = z * z, series = 0;
    for (int k = 21; k >= 1; k -= 2)
        series = series * z_squared + 1.0 / k;
    return -(exponent * log_2 + 2 * z * series);
}

/* Returns the square root of 1/2 <= x <= 200, with a relative error of at most 2^-51: four of Heron's steps from a
   guess that is 4% off. */
static double heron_root(double x)
{
    double root = inlay_f64_of_bits((inlay_bits_f64(x) >> 1) + UINT64_C(0x1ff7a3bea91d9b1b));
    for (int step = 0; step < 4; step++)
        root = (root + x / root) * 0.5;
    return root;
}

enum { TERMS = 8 };

static double polynomial(const double coefficients[TERMS], double x)
{
    double value = coefficients[TERMS - 1];
    for (int i = TERMS - 2; i >= 0; i--)
        value = value * x + coefficients[i];
    return value;
}

/* Algorithm AS 241, PPND16 (Wichura 1988): quotients of polynomials with a relative error of 10^-16. */
double inlay_normal_quantile(double below, double above)
{
    static const double middle[2][TERMS] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
        {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
         3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3},
    };
    static const double tail[2][TERMS] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
         1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9},
    };
    static const double far_tail[2][TERMS] = {
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
         1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15},
    };
    const double smaller = below < above ? below : above, q = 0.5 - smaller;
    double size;
    if (q <= 0.425) {
        double r = 0.180625 - q * q;
        size = q * polynomial(middle[0], r) / polynomial(middle[1], r);
    } else {
        double r = heron_root(minus_log(smaller));
        size = r <= 5 ? polynomial(tail[0], r - 1.6) / polynomial(tail[1], r - 1.6)
                      : polynomial(far_tail[0], r - 5) / polynomial(far_tail[1], r - 5);
    }
    return below < above ? -size : size;
}

/* Returns exp(-x^2 / 2) / sqrt(2 pi) for |x| <= 20; the power is computed in fixed point. */
static double density(double x)
{
    const double factor = 0x1.9884533d43651p-2; /* 1 / sqrt(2 pi) */
    struct inlay_fixed magnitude = inlay_fixed_of(x), square = inlay_fixed_mul(magnitude, magnitude);
    int exponent;
    struct inlay_fixed power = inlay_fixed_exp(inlay_fixed_div(square, 2), true, &exponent);
    return factor * inlay_round_f64(power, exponent, false);
}

double inlay_normal_below(double x)
{
    if (!(x >= -20))
        return 0;
    /* Near the middle: 1/2 minus the density times the series of t^(2k + 1) / (1 * 3 * .. * (2k + 1)). Further out: the
       density times the continued fraction 1 / (t + 1 / (t + 2 / (t + ...))); 400 terms suffice if t >= 1. */
    const double t = -x;
    if (t < 1) {
        double term = t, sum = t;
        for (int k = 3; k < 60; k += 2) {
            term = term * t * t / k;
            sum = sum + term;
        }
        return 0.5 - density(t) * sum;
    }
    double rest = t;
    for (int k = 400; k > 0; k--)
        rest = t + k / rest;
    return density(t) / rest;
}
