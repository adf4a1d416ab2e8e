/* SPDX-License-Identifier: MIT */
/*
 * Unsigned fixed-point numbers of 64 integer and 256 fraction bits: what frequencies, phases, sines and cosines are
 * computed in. Included by exact.h, rounding.h and recipe.c. Integers only: no rounding mode, FMA, libm or ISA can
 * touch a result.
 */
#ifndef INLAY_FIXED_H
#define INLAY_FIXED_H

#include <stdbool.h>
#include <stdint.h>

enum { INLAY_FIXED_LIMBS = 5 };

/* limb[0] is the integer part, limb[1] .. limb[4] the fraction, most significant first. */
struct inlay_fixed {
    uint64_t limb[INLAY_FIXED_LIMBS];
};

/* a * b + c + *carry, which always fits in 128 bits: the low half is returned, the high half becomes *carry. */
static inline uint64_t inlay_mul_add_portable(uint64_t a, uint64_t b, uint64_t c, uint64_t *carry)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32;
    uint64_t b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0;
    uint64_t middle = a1 * b0 + (low >> 32);
    uint64_t other = a0 * b1 + (uint32_t)middle;
    uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32);
    low = (other << 32) | (uint32_t)low;
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

/* difference = a - b of n limbs, most significant first, modulo their range. */
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

struct inlay_fixed inlay_fixed_integer(uint64_t n);
/* The magnitude of a double, |x| < 2^64; what it has below 2^-256 is cut off. */
struct inlay_fixed inlay_fixed_of(double x);
bool inlay_fixed_less(const struct inlay_fixed *a, const struct inlay_fixed *b);
struct inlay_fixed inlay_fixed_add(const struct inlay_fixed *a, const struct inlay_fixed *b);
/* a - b, for a >= b. */
struct inlay_fixed inlay_fixed_sub(const struct inlay_fixed *a, const struct inlay_fixed *b);
/* a * b < 2^64, less than 2 units of 2^-256 below the product. */
struct inlay_fixed inlay_fixed_mul(const struct inlay_fixed *a, const struct inlay_fixed *b);
/* a / d, rounded down, for d > 0. */
struct inlay_fixed inlay_fixed_div(const struct inlay_fixed *a, uint32_t d);
/* a / b < 2^64, rounded down, for b > 0. Bit by bit: slow. */
struct inlay_fixed inlay_fixed_quotient(const struct inlay_fixed *a, const struct inlay_fixed *b);
/* The square root, rounded down to 31 integer and 97 fraction bits. Bit by bit: slow. */
struct inlay_fixed inlay_fixed_sqrt(const struct inlay_fixed *a);

/* The magnitude of ln(x), which is negative below 1, for a normal positive double; within 2^-240. */
struct inlay_fixed inlay_fixed_ln(double x);
/* exp(-y) for 0 <= y < 256; within 2^-240. */
struct inlay_fixed inlay_fixed_exp_negative(const struct inlay_fixed *y);
/* exp(y) or exp(-y) as a number in (1/2, 1] times 2^*exponent, for 0 <= y < 256; the number within 2^-240. */
struct inlay_fixed inlay_fixed_exp(const struct inlay_fixed *y, bool negative, int *exponent);

extern const struct inlay_fixed inlay_fixed_two_pi;
extern const struct inlay_fixed inlay_fixed_inverse_two_pi;

#endif
