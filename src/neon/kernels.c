/* SPDX-License-Identifier: MIT */
/*
 * The NEON kernels: the bodies in src/simd over neon/vec.h. Compiled with this ISA's flags; exports only the table.
 */
#include "neon/vec.h"

#define ISA neon
#include "simd/kernels.h"
