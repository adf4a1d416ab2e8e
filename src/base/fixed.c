/* SPDX-License-Identifier: MIT */
/*
 * Fixed-point arithmetic; ln and exp are power series. Only inlay_fixed_mul() is performance-critical.
 */
#include "base/fixed.h"

#include "base/bits.h"

const struct inlay_fixed inlay_fixed_zero = {{0}}, inlay_fixed_one = {{1}}, inlay_fixed_unit = {{0, 0, 0, 0, 1}};

/* The constants have 256 fraction bits and are rounded down. tests/positions/test_exact.c compares them with MPFR. */
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

struct inlay_fixed inlay_fixed_shift_right(struct inlay_fixed a, unsigned bits)
{
    struct inlay_fixed shifted = {{0}};
    unsigned limbs = bits / 64, rest = bits % 64;
    for (unsigned i = limbs; i < INLAY_FIXED_LIMBS; i++) {
        shifted.limb[i] = a.limb[i - limbs] >> rest;
        if (rest > 0 && i > limbs)
            shifted.limb[i] |= a.limb[i - limbs - 1] << (64 - rest);
    }
    return shifted;
}

struct inlay_real inlay_real_of(double x)
{
    const uint64_t bits = inlay_bits_f64(x), unit = UINT64_C(1) << 52;
    const int field = (int)(bits >> 52 & 2047); /* 0 for a subnormal, which has the exponent of field 1 */
    uint64_t mantissa = (bits & (unit - 1)) | (field > 0 ? unit : 0);
    int exponent = (field > 0 ? field : 1) - 1075; /* |x| = mantissa 2^exponent */
    if (mantissa == 0)
        return (struct inlay_real){0, 0, false};
    if (exponent > 0)
        return (struct inlay_real){mantissa << exponent, 0, bits >> 63};
    /* Shift the mantissa right until it is odd or the exponent is 0. */
    int zeros = __builtin_ctzll(mantissa), right = zeros < -exponent ? zeros : -exponent;
    return (struct inlay_real){mantissa >> right, exponent + right, bits >> 63};
}

struct inlay_fixed inlay_fixed_of(double x)
{
    struct inlay_real real = inlay_real_of(x);
    return inlay_fixed_shift_right(inlay_fixed_integer(real.mantissa), (unsigned)-real.exponent);
}

bool inlay_fixed_less(struct inlay_fixed a, struct inlay_fixed b)
{
    for (int i = 0; i < INLAY_FIXED_LIMBS; i++)
        if (a.limb[i] != b.limb[i])
            return a.limb[i] < b.limb[i];
    return false;
}

struct inlay_fixed inlay_fixed_add(struct inlay_fixed a, struct inlay_fixed b)
{
    struct inlay_fixed sum;
    uint64_t carry = 0;
    for (int i = INLAY_FIXED_LIMBS - 1; i >= 0; i--) {
        uint64_t partial = a.limb[i] + carry;
        carry = partial < carry;
        sum.limb[i] = partial + b.limb[i];
        carry += sum.limb[i] < partial;
    }
    return sum;
}

struct inlay_fixed inlay_fixed_sub(struct inlay_fixed a, struct inlay_fixed b)
{
    struct inlay_fixed difference;
    inlay_limbs_sub(difference.limb, a.limb, b.limb, INLAY_FIXED_LIMBS);
    return difference;
}

struct inlay_fixed inlay_fixed_mul(struct inlay_fixed a, struct inlay_fixed b)
{
    /*
     * Limb i times limb j has weight 2^(-64 (i + j)). One limb below the result, index 5, is kept for its carries. The
     * omitted products of lower weight add up to at most 3 in that limb, less than 2^-256. Dropping the limb itself
     * loses less than another 2^-256.
     */
    uint64_t product[INLAY_FIXED_LIMBS + 1] = {0};
    for (int i = INLAY_FIXED_LIMBS - 1; i >= 0; i--) {
        uint64_t carry = 0;
        for (int j = i == 0 ? INLAY_FIXED_LIMBS - 1 : INLAY_FIXED_LIMBS - i; j >= 0; j--)
            product[i + j] = inlay_mul_add(a.limb[i], b.limb[j], product[i + j], &carry);
        if (i > 0)
            product[i - 1] = carry;
    }
    struct inlay_fixed result;
    memcpy(result.limb, product, sizeof result.limb);
    return result;
}

struct inlay_fixed inlay_fixed_div(struct inlay_fixed a, uint32_t d)
{
    struct inlay_fixed quotient;
    uint64_t remainder = 0;
    for (int i = 0; i < INLAY_FIXED_LIMBS; i++) {
        uint64_t high = (remainder << 32) | (a.limb[i] >> 32);
        uint64_t low = ((high % d) << 32) | (uint32_t)a.limb[i];
        quotient.limb[i] = ((high / d) << 32) | (low / d);
        remainder = low % d;
    }
    return quotient;
}

/* Sets a bit, counted from the most significant one. */
static void set_bit(struct inlay_fixed *x, int place)
{
    x->limb[place / 64] |= UINT64_C(1) << (63 - place % 64);
}

struct inlay_fixed inlay_fixed_quotient(struct inlay_fixed a, struct inlay_fixed b)
{
    /* Long division of a 2^256 by b, as integers of INLAY_FIXED_LIMBS limbs. The remainder starts as all limbs of a
       except the last one, since the quotient is below 2^64. It stays below b < 2^320, so doubling it shifts at most
       one bit out of the top limb: `out`. */
    enum { LAST = INLAY_FIXED_LIMBS - 1 };
    struct inlay_fixed quotient = inlay_fixed_zero, rest = inlay_fixed_shift_right(a, 64);
    uint64_t next = a.limb[LAST];
    for (int place = 0; place < 64 * INLAY_FIXED_LIMBS; place++, next <<= 1) {
        bool out = rest.limb[0] >> 63;
        rest = inlay_fixed_add(rest, rest);
        rest.limb[LAST] |= next >> 63;
        if (out || !inlay_fixed_less(rest, b)) {
            rest = inlay_fixed_sub(rest, b);
            set_bit(&quotient, place);
        }
    }
    return quotient;
}

struct inlay_fixed inlay_fixed_sqrt(struct inlay_fixed a)
{
    struct inlay_fixed root = inlay_fixed_zero;
    for (int place = 32; place < 64 + 97; place++) {
        struct inlay_fixed larger = root;
        set_bit(&larger, place);
        if (!inlay_fixed_less(a, inlay_fixed_mul(larger, larger)))
            root = larger;
    }
    return root;
}

struct inlay_fixed inlay_fixed_ln(double x)
{
    /*
     * x = m 2^e with m in (sqrt(1/2), sqrt(2)), m = mantissa / unit; then
     * ln x = e ln 2 + 2 atanh z with z = (m - 1) / (m + 1), |z| < 0.1716. 50 terms of atanh's series leave
     * z^100 < 2^-254. The two terms are added if they have the same sign. Otherwise the second one is subtracted from
     * the first, which is larger unless e = 0.
     */
    const uint64_t bits = inlay_bits_f64(x), sqrt_2 = UINT64_C(0x16a09e667f3bcc);
    uint64_t unit = UINT64_C(1) << 52;
    uint64_t mantissa = (bits & (unit - 1)) | unit;
    int exponent = (int)(bits >> 52) - 1023;
    if (mantissa > sqrt_2) {
        unit <<= 1;
        exponent++;
    }
    bool below_one = mantissa < unit;
    struct inlay_fixed difference = inlay_fixed_integer(below_one ? unit - mantissa : mantissa - unit);
    struct inlay_fixed z = inlay_fixed_quotient(difference, inlay_fixed_integer(mantissa + unit));
    struct inlay_fixed z_squared = inlay_fixed_mul(z, z), series = inlay_fixed_zero;
    for (int k = 50; k >= 0; k--) {
        struct inlay_fixed term = inlay_fixed_div(inlay_fixed_one, 2 * (uint32_t)k + 1);
        series = inlay_fixed_add(inlay_fixed_mul(series, z_squared), term);
    }
    struct inlay_fixed atanh_z = inlay_fixed_mul(z, series), twice = inlay_fixed_add(atanh_z, atanh_z);
    if (exponent == 0)
        return twice;
    uint64_t count = (uint64_t)(exponent < 0 ? -exponent : exponent);
    struct inlay_fixed whole = inlay_fixed_mul(inlay_fixed_integer(count), ln_2);
    return below_one == (exponent < 0) ? inlay_fixed_add(whole, twice) : inlay_fixed_sub(whole, twice);
}

/* Returns exp(-r) for 0 <= r < ln 2. */
static struct inlay_fixed exp_of_fraction(struct inlay_fixed r)
{
    /*
     * exp(-r) = exp(-r / 256)^256. The remainder after 26 terms of the series is (ln 2 / 256)^26 / 26! < 2^-300; each
     * of the 8 squarings doubles the error.
     */
    struct inlay_fixed rest = inlay_fixed_shift_right(r, 8), power = inlay_fixed_one;
    for (uint32_t n = 26; n > 0; n--)
        power = inlay_fixed_sub(inlay_fixed_one, inlay_fixed_div(inlay_fixed_mul(power, rest), n));
    for (int i = 0; i < 8; i++)
        power = inlay_fixed_mul(power, power);
    return power;
}

struct inlay_fixed inlay_fixed_exp(struct inlay_fixed y, bool negative, int *exponent)
{
    /* y = k ln 2 + r, 0 <= r < ln 2: exp(-y) = exp(-r) 2^-k, and exp(y) = exp(-(ln 2 - r)) 2^(k + 1) unless r = 0. */
    int k = 0;
    while (!inlay_fixed_less(y, ln_2)) {
        y = inlay_fixed_sub(y, ln_2);
        k++;
    }
    if (!negative && inlay_fixed_less(inlay_fixed_zero, y)) {
        y = inlay_fixed_sub(ln_2, y);
        k++;
    }
    *exponent = negative ? -k : k;
    return exp_of_fraction(y);
}
