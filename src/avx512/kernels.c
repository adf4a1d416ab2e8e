/* SPDX-License-Identifier: MIT */
/*
 * The AVX-512 kernels: the bodies in src/simd over avx512/vec.h. Compiled with this ISA's flags; exports only the
 * table.
 */
#include "avx512/vec.h"

#define ISA avx512
#include "simd/kernels.h"
