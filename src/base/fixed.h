/* SPDX-License-Identifier: MIT */
/*
 * Unsigned fixed-point numbers of 64 integer and 256 fraction bits, for frequencies, phases, sines and cosines. All
 * operations are integer operations, so results don't depend on rounding mode, FMA, libm or ISA.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { INLAY_FIXED_LIMBS = 5 };

/* limb[0] is the integer part, limb[1] .. limb[4] the fraction, most significant first. */
struct inlay_fixed {
    uint64_t limb[INLAY_FIXED_LIMBS];
};

/* Computes a * b + c + *carry, which fits in 128 bits. Returns the low half and writes the high half to *carry. */
static inline uint64_t inlay_mul_add_portable(uint64_t a, uint64_t b, uint64_t c, uint64_t *carry)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32;
    uint64_t b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0;
    uint64_t middle = a1 * b0 + (low >> 32);
    uint64_t middle_too = a0 * b1 + (uint32_t)middle;
    uint64_t high = a1 * b1 + (middle >> 32) + (middle_too >> 32);
    low = (middle_too << 32) | (uint32_t)low;
    low += c;
    high += low < c;
    low += *carry;
    high += low < *carry;
    *carry = high;
    return low;
}

static inline uint64_t inlay_mul_add(uint64_t a, uint64_t b, uint64_t c, uint64_t *carry)
{
#ifdef __SIZEOF_INT128__
    __extension__ unsigned __int128 wide = (unsigned __int128)a * b + c + *carry;
    *carry = (uint64_t)(wide >> 64);
    return (uint64_t)wide;
#else
    return inlay_mul_add_portable(a, b, c, carry);
#endif
}

/* Computes difference = a - b for numbers of n limbs, most significant first, modulo 2^(64 n). */
static inline void inlay_limbs_sub(uint64_t *difference, const uint64_t *a, const uint64_t *b, int n)
{
    uint64_t borrow = 0;
    for (int i = n - 1; i >= 0; i--) {
        uint64_t partial = a[i] - borrow;
        borrow = a[i] < borrow;
        borrow += partial < b[i];
        difference[i] = partial - b[i];
    }
}

/* The exact value of a double: mantissa * 2^exponent or its negative. The exponent is 0 for every integer. */
struct inlay_real {
    uint64_t mantissa; /* odd unless the exponent is 0 */
    int exponent;      /* <= 0 */
    bool negative;
};

/* Decomposes a double, |x| < 2^64. */
struct inlay_real inlay_real_of(double x);

extern const struct inlay_fixed inlay_fixed_zero, inlay_fixed_one;
extern const struct inlay_fixed inlay_fixed_unit; /* 2^-256, the smallest positive number */
extern const struct inlay_fixed inlay_fixed_two_pi, inlay_fixed_inverse_two_pi;

struct inlay_fixed inlay_fixed_integer(uint64_t n);

/* Returns the magnitude of a double, |x| < 2^64, without its bits below 2^-256. */
struct inlay_fixed inlay_fixed_of(double x);

bool inlay_fixed_less(struct inlay_fixed a, struct inlay_fixed b);
struct inlay_fixed inlay_fixed_add(struct inlay_fixed a, struct inlay_fixed b);

/* Returns a - b, for a >= b. */
struct inlay_fixed inlay_fixed_sub(struct inlay_fixed a, struct inlay_fixed b);

/* Returns a * b, which must be below 2^64. The result is too small by less than 2 * 2^-256. */
struct inlay_fixed inlay_fixed_mul(struct inlay_fixed a, struct inlay_fixed b);

/* Returns a / 2^bits rounded down. */
struct inlay_fixed inlay_fixed_shift_right(struct inlay_fixed a, unsigned bits);

/* Returns a / d rounded down, for d > 0. */
struct inlay_fixed inlay_fixed_div(struct inlay_fixed a, uint32_t d);

/* Returns a / b rounded down, for b > 0; the quotient must be below 2^64. Slow: computes bit by bit. */
struct inlay_fixed inlay_fixed_quotient(struct inlay_fixed a, struct inlay_fixed b);

/* Returns the square root rounded down to 32 integer and 97 fraction bits. Slow: computes bit by bit. */
struct inlay_fixed inlay_fixed_sqrt(struct inlay_fixed a);

/* Returns |ln x| for a normal positive double, within 2^-240. (ln x is negative for x < 1.) */
struct inlay_fixed inlay_fixed_ln(double x);

/* Returns a number f in (1/2, 1], within 2^-240, with f * 2^*exponent = exp(y), or exp(-y) if `negative`; 0 <= y < 256.
 */
struct inlay_fixed inlay_fixed_exp(struct inlay_fixed y, bool negative, int *exponent);
