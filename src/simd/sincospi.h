/* SPDX-License-Identifier: MIT */
/*
 * The word vec_sincospi() by polynomials, for a vec.h whose ISA has no function of SLEEF, or is built without SLEEF.
 * words.h states the error. Holds no intrinsics.
 */
#ifndef INLAY_SIMD_SINCOSPI_H
#define INLAY_SIMD_SINCOSPI_H

#include "simd/sincos.h"

/* sin(pi x) and cos(pi x), |x| <= 1/4. */
VEC_INLINE struct vec_sincos vec_sincospi(vec_double x)
{
    return sincos_quarter(x + x);
}

#endif
