/* SPDX-License-Identifier: MIT */
/*
 * The kernels of AVX2: the bodies of src/simd over this folder's words. Compiled with this ISA's flags; exports the
 * table and nothing else.
 */
#include "avx2/vec.h"

#define ISA avx2
#include "simd/kernels.h"
