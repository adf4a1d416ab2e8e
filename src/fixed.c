/* SPDX-License-Identifier: MIT */
/*
 * The fixed-point arithmetic of fixed.h, with ln and exp by series. Speed matters in inlay_fixed_mul alone.
 */
#include "fixed.h"

#include <string.h>

/* The first 256 fraction bits of each constant, rounded down; tests/test_exact.c holds them against MPFR. */
const struct inlay_fixed inlay_fixed_two_pi = {
    {6, 0x487ed5110b4611a6, 0x2633145c06e0e689, 0x48127044533e63a0, 0x105df531d89cd912}};
const struct inlay_fixed inlay_fixed_inverse_two_pi = {
    {0, 0x28be60db9391054a, 0x7f09d5f47d4d3770, 0x36d8a5664f10e410, 0x7f9458eaf7aef158}};
static const struct inlay_fixed ln_2 = {
    {0, 0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af, 0x40f343267298b62d, 0x8a0d175b8baafa2b}};

struct inlay_fixed inlay_fixed_integer(uint64_t n)
{
    return (struct inlay_fixed){{n, 0, 0, 0, 0}};
}

static bool less(const struct inlay_fixed *a, const struct inlay_fixed *b)
{
    for (int i = 0; i < INLAY_FIXED_LIMBS; i++)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i];
    return false;
}

struct inlay_fixed inlay_fixed_add(const struct inlay_fixed *a, const struct inlay_fixed *b)
{
    struct inlay_fixed sum;
    uint64_t carry = 0;
    for (int i = INLAY_FIXED_LIMBS - 1; i >= 0; i--) {
        uint64_t partial = a->limb[i] + carry;
        carry = partial < carry;
        sum.limb[i] = partial + b->limb[i];
        carry += sum.limb[i] < partial;
    }
    return sum;
}

struct inlay_fixed inlay_fixed_sub(const struct inlay_fixed *a, const struct inlay_fixed *b)
{
    struct inlay_fixed difference;
    inlay_limbs_sub(difference.limb, a->limb, b->limb, INLAY_FIXED_LIMBS);
    return difference;
}

struct inlay_fixed inlay_fixed_mul(const struct inlay_fixed *a, const struct inlay_fixed *b)
{
    /*
     * Limb i times limb j weighs 2^(-64 (i + j)). One limb below the result, index 5, is kept for its carries; what
     * weighs less adds at most 3 to that limb, hence less than 2^-256, and truncating it less than another 2^-256.
     */
    uint64_t product[INLAY_FIXED_LIMBS + 1] = {0};
    for (int i = INLAY_FIXED_LIMBS - 1; i >= 0; i--) {
        uint64_t carry = 0;
        for (int j = i == 0 ? INLAY_FIXED_LIMBS - 1 : INLAY_FIXED_LIMBS - i; j >= 0; j--)
            product[i + j] = inlay_mul_add(a->limb[i], b->limb[j], product[i + j], &carry);
        if (i > 0)
            product[i - 1] = carry;
    }
    struct inlay_fixed result;
    memcpy(result.limb, product, sizeof result.limb);
    return result;
}

struct inlay_fixed inlay_fixed_div(const struct inlay_fixed *a, uint32_t d)
{
    struct inlay_fixed quotient;
    uint64_t remainder = 0;
    for (int i = 0; i < INLAY_FIXED_LIMBS; i++) {
        uint64_t high = (remainder << 32) | (a->limb[i] >> 32);
        uint64_t low = ((high % d) << 32) | (uint32_t)a->limb[i];
        quotient.limb[i] = ((high / d) << 32) | (low / d);
        remainder = low % d;
    }
    return quotient;
}

/* a / 2^bits, rounded down. */
static struct inlay_fixed shift_right(const struct inlay_fixed *a, unsigned bits)
{
    struct inlay_fixed shifted = {{0}};
    unsigned limbs = bits / 64, rest = bits % 64;
    for (unsigned i = limbs; i < INLAY_FIXED_LIMBS; i++) {
        shifted.limb[i] = a->limb[i - limbs] >> rest;
        if (rest > 0 && i > limbs)
            shifted.limb[i] |= a->limb[i - limbs - 1] << (64 - rest);
    }
    return shifted;
}

/* n / d for n < d < 2^63, bit by bit. */
static struct inlay_fixed ratio(uint64_t n, uint64_t d)
{
    struct inlay_fixed quotient = {{0}};
    for (int i = 1; i < INLAY_FIXED_LIMBS; i++)
        for (int bit = 63; bit >= 0; bit--) {
            n <<= 1;
            if (n >= d) {
                n -= d;
                quotient.limb[i] |= UINT64_C(1) << bit;
            }
        }
    return quotient;
}

struct inlay_fixed inlay_fixed_ln(double x)
{
    /*
     * x = m 2^e with m in (sqrt(1/2), sqrt(2)), m = mantissa / unit; then
     * ln x = e ln 2 + 2 atanh z with z = (m - 1) / (m + 1), |z| < 0.1716, and 50 terms of atanh's series leave
     * z^100 < 2^-254.
     */
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t sqrt_2 = UINT64_C(0x16a09e667f3bcc);
    uint64_t unit = UINT64_C(1) << 52;
    uint64_t mantissa = (bits & (unit - 1)) | unit;
    uint32_t exponent = (uint32_t)(bits >> 52) - 1023;
    if (mantissa > sqrt_2) {
        unit <<= 1;
        exponent++;
    }
    bool below_one = mantissa < unit;
    struct inlay_fixed z = ratio(below_one ? unit - mantissa : mantissa - unit, mantissa + unit);
    struct inlay_fixed z_squared = inlay_fixed_mul(&z, &z);
    struct inlay_fixed one = inlay_fixed_integer(1);
    struct inlay_fixed series = {{0}};
    for (int k = 50; k >= 0; k--) {
        struct inlay_fixed term = inlay_fixed_div(&one, 2 * (uint32_t)k + 1);
        series = inlay_fixed_mul(&series, &z_squared);
        series = inlay_fixed_add(&series, &term);
    }
    struct inlay_fixed atanh_z = inlay_fixed_mul(&z, &series);
    struct inlay_fixed twice = inlay_fixed_add(&atanh_z, &atanh_z);
    struct inlay_fixed count = inlay_fixed_integer(exponent);
    struct inlay_fixed whole = inlay_fixed_mul(&count, &ln_2);
    return below_one ? inlay_fixed_sub(&whole, &twice) : inlay_fixed_add(&whole, &twice);
}

struct inlay_fixed inlay_fixed_exp_negative(const struct inlay_fixed *y)
{
    /*
     * exp(-y) = 2^-k exp(-r / 256)^256 with 0 <= r < ln 2. 26 terms leave (ln 2 / 256)^26 / 26! < 2^-300; each of the 8
     * squarings doubles the error.
     */
    struct inlay_fixed rest = *y;
    unsigned halvings = 0;
    while (!less(&rest, &ln_2)) {
        rest = inlay_fixed_sub(&rest, &ln_2);
        halvings++;
    }
    rest = shift_right(&rest, 8);
    struct inlay_fixed one = inlay_fixed_integer(1);
    struct inlay_fixed power = one;
    for (uint32_t n = 26; n > 0; n--) {
        struct inlay_fixed term = inlay_fixed_mul(&power, &rest);
        term = inlay_fixed_div(&term, n);
        power = inlay_fixed_sub(&one, &term);
    }
    for (int i = 0; i < 8; i++)
        power = inlay_fixed_mul(&power, &power);
    return shift_right(&power, halvings);
}
