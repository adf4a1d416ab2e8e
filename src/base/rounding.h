/* SPDX-License-Identifier: MIT */
/*
 * Rounds fixed-point numbers once, to nearest even, to IEEE 754 binary formats and bfloat16. Uses integer operations
 * only, so the floating-point environment cannot affect results.
 */
#pragma once

#include "base/fixed.h"

#include <inlay/inlay.h>

/* Field widths of a binary format, without the sign bit. */
struct inlay_format {
    unsigned fraction_bits;
    unsigned exponent_bits;
};

/* Returns the format of INLAY_F32, INLAY_F16 or INLAY_BF16. */
struct inlay_format inlay_format_of(inlay_element_type type);

/* Returns the bits of x * 2^exponent, or of its negative, rounded to nearest even. Zero is always positive. The result
   may be subnormal; x * 2^exponent must not exceed the largest number of the format. */
uint64_t inlay_round(struct inlay_fixed x, int exponent, bool negative, struct inlay_format format);

/* Same, as a binary32 or binary64 number. */
float inlay_round_f32(struct inlay_fixed x, int exponent, bool negative);
double inlay_round_f64(struct inlay_fixed x, int exponent, bool negative);

/* Returns the bits of the nearest float16, ties to even. `bits` is a float of magnitude less than 65520. The sign of
   zero is kept. */
uint16_t inlay_float_to_f16(uint32_t bits);
