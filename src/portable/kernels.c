/* SPDX-License-Identifier: MIT */
/*
 * The portable kernels: the bodies in src/simd over portable/vec.h. Exports only the table.
 */
#include "portable/vec.h"

#define ISA portable
#include "simd/kernels.h"
