/* SPDX-License-Identifier: MIT */
/*
 * Rounding takes the leading bits of a fixed-point number and tests the bits that follow: below half a unit in the last
 * place, above it, or a tie.
 */
#include "base/rounding.h"

#include "base/bits.h"

struct inlay_format inlay_format_of(inlay_element_type type)
{
    static const struct inlay_format formats[] = {[INLAY_F32] = {23, 8}, [INLAY_F16] = {10, 5}, [INLAY_BF16] = {7, 8}};
    return formats[type];
}

/* A fixed-point number as its leading 64 bits and a power of two: mantissa * 2^exponent, rounded down. The mantissa is
   0 for zero, else >= 2^63. `inexact` is true if nonzero lower bits were cut off. */
struct leading {
    uint64_t mantissa;
    int exponent;
    bool inexact;
};

static struct leading leading_bits(struct inlay_fixed x)
{
    int i = 0;
    while (i < INLAY_FIXED_LIMBS - 1 && x.limb[i] == 0)
        i++;
    if (x.limb[i] == 0)
        return (struct leading){0, 0, false};
    uint64_t next = i + 1 < INLAY_FIXED_LIMBS ? x.limb[i + 1] : 0;
    int zeros = __builtin_clzll(x.limb[i]);
    bool inexact = next << zeros != 0;
    for (int rest = i + 2; rest < INLAY_FIXED_LIMBS; rest++)
        inexact |= x.limb[rest] != 0;
    return (struct leading){x.limb[i] << zeros | next >> 1 >> (63 - zeros), -64 * i - zeros, inexact};
}

uint64_t inlay_round(struct inlay_fixed x, int exponent, bool negative, struct inlay_format format)
{
    struct leading leading = leading_bits(x);
    if (leading.mantissa == 0)
        return 0;
    const uint64_t sign = (uint64_t)negative << (format.fraction_bits + format.exponent_bits);
    int bias = (1 << (format.exponent_bits - 1)) - 1;
    int biased = leading.exponent + 63 + exponent + bias;
    /* Below the normal numbers, where biased < 1, a subnormal keeps one bit fewer for each power of two. */
    int dropped = 63 - (int)format.fraction_bits + (biased < 1 ? 1 - biased : 0);
    if (dropped > 64)
        return sign; /* less than half of the smallest subnormal */
    uint64_t kept = dropped < 64 ? leading.mantissa >> dropped : 0;
    uint64_t rest = dropped < 64 ? leading.mantissa << (64 - dropped) : leading.mantissa;
    const uint64_t half = UINT64_C(1) << 63;
    bool up = rest > half || (rest == half && (leading.inexact || (kept & 1)));
    /* The leading bit of a normal number is the lowest bit of the exponent field and adds one to it. A carry out of the
       fraction adds another one. */
    uint64_t exponent_field = biased < 1 ? 0 : (uint64_t)(biased - 1);
    return sign | ((exponent_field << format.fraction_bits) + kept + up);
}

float inlay_round_f32(struct inlay_fixed x, int exponent, bool negative)
{
    return inlay_f32_of_bits((uint32_t)inlay_round(x, exponent, negative, inlay_format_of(INLAY_F32)));
}

double inlay_round_f64(struct inlay_fixed x, int exponent, bool negative)
{
    const struct inlay_format binary64 = {52, 11};
    return inlay_f64_of_bits(inlay_round(x, exponent, negative, binary64));
}

/* Returns x without its lowest `bits` bits, rounded to nearest even. */
static uint32_t shorten(uint32_t x, unsigned bits)
{
    return (x + (UINT32_C(1) << (bits - 1)) - 1 + (x >> bits & 1)) >> bits;
}

uint16_t inlay_float_to_f16(uint32_t bits)
{
    const uint32_t sign = bits >> 31 << 15, magnitude = bits & INT32_MAX, exponent = magnitude >> 23;
    const uint32_t smallest_normal = 127 - 14;
    if (exponent >= smallest_normal) /* the exponents' biases differ by 112 */
        return (uint16_t)(sign | shorten(magnitude - (UINT32_C(112) << 23), 13));
    /* A subnormal counts units of 2^-24, the float's mantissa units of 2^(exponent - 150). */
    const uint32_t down = 126 - exponent;
    if (down > 24)
        return (uint16_t)sign; /* less than half of the smallest subnormal */
    return (uint16_t)(sign | shorten((magnitude & 0x7fffff) | 0x800000, down));
}
