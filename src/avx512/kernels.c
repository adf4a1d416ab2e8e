/* SPDX-License-Identifier: MIT */
/*
 * The kernels of AVX-512: the bodies of src/simd over this folder's words. Compiled with this ISA's flags; exports the
 * table and nothing else.
 */
#include "avx512/vec.h"

#define ISA avx512
#include "simd/kernels.h"
