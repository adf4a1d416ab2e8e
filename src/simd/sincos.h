/* SPDX-License-Identifier: MIT */
/*
 * Sines and cosines of fractions of a quarter turn, by polynomials or by the ISA's SLEEF function. No intrinsics.
 */
#pragma once

#ifdef INLAY_HAVE_SLEEF
#include <sleef.h>
#endif

/* Coefficients of r^3, r^5, ... and of r^2, r^4, ... */
enum { SINE_TERMS = 6, COSINE_TERMS = 7 };
static const double sincos_half_pi = 0x1.921fb54442d18p+0;
static const double sincos_sine[SINE_TERMS] = {-0x1.4abbce625bdbap-1, 0x1.466bc6774c8f5p-4,   -0x1.32d2ccd66c384p-8,
                                               0x1.507824014d6ddp-13, -0x1.e2f609e6b95d3p-19, 0x1.e0842064858adp-25};
static const double sincos_cosine[COSINE_TERMS] = {-0x1.3bd3cc9be45dep+0, 0x1.03c1f081b5ac0p-2,   -0x1.55d3c7e3cb241p-6,
                                                   0x1.e1f5068688d32p-11, -0x1.a6d1eef476fd6p-16, 0x1.f9ce2459fca93p-22,
                                                   -0x1.b2f3ea0ac583cp-28};

/* Returns factor * (c[0] + c[1] z + c[2] z^2 + ...) + first. */
VEC_INLINE vec_double sincos_polynomial(vec_double factor, vec_double z, const double *c, size_t terms,
                                        vec_double first)
{
    vec_double sum = vec_double_set1(c[terms - 1]);
    for (size_t i = terms - 1; i-- > 0;)
        sum = vec_double_fma(sum, z, vec_double_set1(c[i]));
    return vec_double_fma(sum, factor, first);
}

/*
 * Returns the sine and the cosine of r quarter turns, |r| <= 1/2 + 2^-20, each with a relative error below 3 u, u =
 * 2^-53.
 *
 * The polynomials interpolate sin(pi/2 r) / r and (cos(pi/2 r) - 1) / r^2, as functions of r^2, at the Chebyshev nodes
 * of [0, 1/4]. With coefficients rounded to double, their errors are below 2^-54.5 of the sine and 2^-55 of the cosine.
 * The last sum has a relative error of u, and the terms before it are small. So a sine's relative error is below 1.1 u
 * (r * first coefficient) + 0.4 u (other terms) + 0.4 u (polynomial) + u (sum), and a cosine's below 0.9 u (terms) +
 * 0.3 u (polynomial) + u (sum). If fma also rounds its product, the terms add 0.1 u to the sine and 0.5 u to the
 * cosine.
 */
VEC_INLINE struct vec_sincos sincos_quarter(vec_double r)
{
    const vec_double z = r * r;
    return (struct vec_sincos){sincos_polynomial(r * z, z, sincos_sine, SINE_TERMS, r * sincos_half_pi),
                               sincos_polynomial(z, z, sincos_cosine, COSINE_TERMS, vec_double_set1(1))};
}

/* Return sin(pi x) and cos(pi x), |x| <= 1/4, with a relative error of at most SINCOS_PI_ERROR units of 2^-53. SLEEF is
   accurate to half an ULP, which is at most one unit; the polynomials to three. Error bounds grow with it; entries keep
   their bits. */
#ifdef INLAY_HAVE_SLEEF
enum { SINCOS_PI_ERROR = 1 };

VEC_INLINE struct vec_sincos sincos_pi(vec_double x)
{
    const __typeof__(VEC_SLEEF_SINCOSPI(x)) both = VEC_SLEEF_SINCOSPI(x);
    return (struct vec_sincos){both.x, both.y};
}
#else
enum { SINCOS_PI_ERROR = 3 };

VEC_INLINE struct vec_sincos sincos_pi(vec_double x)
{
    return sincos_quarter(x + x);
}
#endif
