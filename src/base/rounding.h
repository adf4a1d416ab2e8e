/* SPDX-License-Identifier: MIT */
/*
 * Fixed-point numbers rounded, once, to the binary formats of IEEE 754 and to bfloat16. Included by what computes
 * exactly. Integers only: no floating-point environment can touch a result.
 */
#ifndef INLAY_ROUNDING_H
#define INLAY_ROUNDING_H

#include "base/fixed.h"

#include <inlay/inlay.h>

/* A binary format by its fields: sign, exponent, fraction. */
struct inlay_format {
    unsigned fraction_bits;
    unsigned exponent_bits;
};

extern const struct inlay_format inlay_format_f64;

/* The format of a type's elements. */
struct inlay_format inlay_format_of(inlay_element_type type);

/* The bits of x * 2^exponent, or of its negative, rounded to nearest even; of zero always the positive one. Subnormals
   are formed; nothing may lie beyond the largest number. */
uint64_t inlay_round(const struct inlay_fixed *x, int exponent, bool negative, struct inlay_format format);

/* The double of inlay_round()'s bits. */
double inlay_round_f64(const struct inlay_fixed *x, int exponent, bool negative);

/* A float, given as its bits, of less than 65504 in magnitude, rounded once more to nearest even; signs are kept. */
uint16_t inlay_float_to_f16(uint32_t bits);
uint16_t inlay_float_to_bf16(uint32_t bits);

#endif
