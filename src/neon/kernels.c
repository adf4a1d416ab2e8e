/* SPDX-License-Identifier: MIT */
/*
 * The kernels of NEON: the bodies of src/simd over this folder's words. Compiled with this ISA's flags; exports the
 * table and nothing else.
 */
#include "neon/vec.h"

#define ISA neon
#include "simd/kernels.h"
