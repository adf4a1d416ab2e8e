/* SPDX-License-Identifier: MIT */
/*
 * The portable kernels: the bodies of src/simd over this folder's words. Compiled for the baseline of the architecture;
 * exports the table and nothing else.
 */
#include "portable/vec.h"

#define ISA portable
#include "simd/kernels.h"
