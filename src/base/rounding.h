/* SPDX-License-Identifier: MIT */
/*
 * Rounding of fixed-point numbers, once and to nearest even, to the binary formats of IEEE 754 and to bfloat16. It uses
 * integer operations only, so that no floating-point environment can affect a result.
 */
#pragma once

#include "base/fixed.h"

#include <inlay/inlay.h>

/* The widths of the fields of a binary format, besides its sign bit. */
struct inlay_format {
    unsigned fraction_bits;
    unsigned exponent_bits;
};

/* Returns the format of INLAY_F32, INLAY_F16 or INLAY_BF16. */
struct inlay_format inlay_format_of(inlay_element_type type);

/* Returns the bits of x * 2^exponent, or of its negative, rounded to nearest even. Zero is always positive. The result
   may be subnormal; x * 2^exponent must not lie beyond the largest number of the format. */
uint64_t inlay_round(struct inlay_fixed x, int exponent, bool negative, struct inlay_format format);

/* The same as a number of binary32 or binary64. */
float inlay_round_f32(struct inlay_fixed x, int exponent, bool negative);
double inlay_round_f64(struct inlay_fixed x, int exponent, bool negative);

/* Returns a float, given by its bits and less than 65520 in magnitude, as the bits of the nearest float16, ties to
   even. The sign of zero is kept. */
uint16_t inlay_float_to_f16(uint32_t bits);
