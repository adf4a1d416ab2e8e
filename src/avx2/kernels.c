/* SPDX-License-Identifier: MIT */
/*
 * The AVX2 kernels: the bodies in src/simd over avx2/vec.h. Compiled with this ISA's flags; exports only the table.
 */
#include "avx2/vec.h"

#define ISA avx2
#include "simd/kernels.h"
