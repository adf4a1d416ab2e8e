/* SPDX-License-Identifier: MIT */
/*
 * The integer path of exact.h. How many bits are enough: over all positions below 2^31, base 10000 and dims to 4096,
 * the phase comes no nearer to a multiple of pi/2 than 2^-45.34 (continued fractions; dim 1024, i = 50, position
 * 1715512116). There a frequency is known within 2^-235 (within 2^-225 at the largest dim), a phase within 2^-204, a
 * sine within 2^-190: that is 145 bits of the smallest sine, where binary32 keeps 24, so an undecided rounding would
 * need 120 equal bits in a row. Bases to 1e30 make slow frequencies, down to 2^-103: there the sine is as small as the
 * phase, with 100 bits to spare.
 */
#include "exact.h"

#include <string.h>

struct inlay_phase inlay_phase_at(const struct inlay_fixed *frequency, uint32_t position)
{
    /* Whole turns are the integer part, dropped with the last carry. */
    struct inlay_phase phase = {{{0}}, 0, false};
    uint64_t carry = 0;
    for (int i = INLAY_FIXED_LIMBS - 1; i > 0; i--)
        phase.turns.limb[i] = inlay_mul_add(frequency->limb[i], position, 0, &carry);

    /* To the nearest quarter turn: an eighth is added before the top two bits are read, and taken off again. */
    const uint64_t eighth = UINT64_C(1) << 61;
    uint64_t shifted = phase.turns.limb[1] + eighth;
    phase.quadrant = (unsigned)(shifted >> 62);
    uint64_t within = shifted & ((UINT64_C(1) << 62) - 1);
    phase.negative = within < eighth;
    phase.turns.limb[1] = within - eighth;
    if (phase.negative) {
        uint64_t carry_in = 1;
        for (int i = INLAY_FIXED_LIMBS - 1; i > 0; i--) {
            phase.turns.limb[i] = ~phase.turns.limb[i] + carry_in;
            carry_in = carry_in && phase.turns.limb[i] == 0;
        }
    }
    return phase;
}

/* A fixed-point number below 2^63 as its leading 64 bits and a power of two: value = mantissa * 2^exponent, rounded
   down; mantissa 0 for zero, else >= 2^63. */
struct leading {
    uint64_t mantissa;
    int exponent;
    bool inexact;
};

static struct leading leading_bits(const struct inlay_fixed *x)
{
    struct leading leading = {0, 0, false};
    int i = 0;
    while (i < INLAY_FIXED_LIMBS && x->limb[i] == 0)
        i++;
    if (i == INLAY_FIXED_LIMBS)
        return leading;
    uint64_t next = i + 1 < INLAY_FIXED_LIMBS ? x->limb[i + 1] : 0;
    int zeros = __builtin_clzll(x->limb[i]);
    leading.mantissa = zeros > 0 ? x->limb[i] << zeros | next >> (64 - zeros) : x->limb[i];
    leading.exponent = -64 * i - zeros;
    leading.inexact = next << zeros != 0;
    for (int rest = i + 2; rest < INLAY_FIXED_LIMBS; rest++)
        leading.inexact |= x->limb[rest] != 0;
    return leading;
}

/* mantissa * 2^exponent, mantissa >= 2^63, rounded to 53 bits. No tie comes here: the numbers are irrational. */
static double round_f64(uint64_t mantissa, int exponent, bool negative)
{
    /* The leading bit of the kept ones, 2^52, adds one to the exponent; a carry out of them adds another. */
    uint64_t kept = (mantissa >> 11) + (mantissa >> 10 & 1);
    uint64_t bits = ((uint64_t)(1022 + 63 + exponent) << 52) + kept + ((uint64_t)negative << 63);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double fixed_to_f64(const struct inlay_fixed *x, bool negative)
{
    struct leading leading = leading_bits(x);
    return leading.mantissa == 0 ? 0 : round_f64(leading.mantissa, leading.exponent, negative);
}

double inlay_phase_half_turns(const struct inlay_fixed *frequency, uint32_t position, unsigned *quadrant)
{
    /* inlay_phase_at and leading_bits in one, without their branches: an anchor asks for one of these per pair. */
    uint64_t turns[INLAY_FIXED_LIMBS];
    uint64_t carry = 0;
    for (int i = INLAY_FIXED_LIMBS - 1; i > 0; i--)
        turns[i] = inlay_mul_add(frequency->limb[i], position, 0, &carry);
    const uint64_t eighth = UINT64_C(1) << 61;
    uint64_t shifted = turns[1] + eighth;
    *quadrant = (unsigned)(shifted >> 62);
    turns[1] = (shifted & ((UINT64_C(1) << 62) - 1)) - eighth;
    /* The one's complement is short of the negative by 2^-256. */
    uint64_t sign = 0 - (turns[1] >> 63);
    int i = 1;
    while (i < INLAY_FIXED_LIMBS - 1 && turns[i] == sign)
        i++;
    uint64_t high = turns[i] ^ sign;
    uint64_t low = i + 1 < INLAY_FIXED_LIMBS ? turns[i + 1] ^ sign : 0;
    if (high == 0)
        return 0;
    int zeros = __builtin_clzll(high);
    return round_f64(high << zeros | low >> 1 >> (63 - zeros), 1 - 64 * i - zeros, sign != 0);
}

/* a * b, less than 2 units of 2^-256 too small: limb i times limb j weighs 2^(-64 (i + j + 2)), and of what weighs less
   than the fifth limb only carries are lost. */
static inline struct inlay_fraction fraction_mul(const struct inlay_fraction *a, const struct inlay_fraction *b)
{
    enum { LIMBS = INLAY_FIXED_LIMBS - 1 };
    uint64_t product[LIMBS + 1] = {0};
    for (int i = LIMBS - 1; i >= 0; i--) {
        uint64_t carry = 0;
        for (int j = LIMBS - 1 - i; j >= 0; j--)
            product[i + j + 1] = inlay_mul_add(a->limb[i], b->limb[j], product[i + j + 1], &carry);
        product[i] = carry;
    }
    struct inlay_fraction result;
    memcpy(result.limb, product, sizeof result.limb);
    return result;
}

/* a - b modulo 1. */
static inline struct inlay_fraction fraction_sub(const struct inlay_fraction *a, const struct inlay_fraction *b)
{
    struct inlay_fraction difference;
    inlay_limbs_sub(difference.limb, a->limb, b->limb, INLAY_FIXED_LIMBS - 1);
    return difference;
}

static struct inlay_fraction fraction_of(const struct inlay_fixed *x)
{
    struct inlay_fraction fraction;
    memcpy(fraction.limb, x->limb + 1, sizeof fraction.limb);
    return fraction;
}

static struct inlay_fixed fixed_of(const struct inlay_fraction *fraction)
{
    struct inlay_fixed x = {{0}};
    memcpy(x.limb + 1, fraction->limb, sizeof fraction->limb);
    return x;
}

void inlay_taylor_init(struct inlay_taylor *taylor)
{
    struct inlay_fixed coefficient = inlay_fixed_integer(1);
    for (uint32_t n = 2; n < INLAY_TAYLOR_TERMS; n++) {
        coefficient = inlay_fixed_div(&coefficient, n);
        taylor->coefficient[n] = fraction_of(&coefficient);
    }
}

/* y (c[first] - c[first + 2] y + c[first + 4] y^2 - ...), y <= (pi / 4)^2: every partial sum of Horner's scheme lies in
   [0, 1), since consecutive coefficients fall by more than y grows them. */
static struct inlay_fraction alternating(const struct inlay_taylor *taylor, int first, const struct inlay_fraction *y)
{
    /* The first term left out is below (pi / 4)^46 / 46! < 2^-207. */
    int n = INLAY_TAYLOR_TERMS - 4 + first;
    struct inlay_fraction sum = taylor->coefficient[n];
    while (n > first) {
        n -= 2;
        sum = fraction_mul(&sum, y);
        sum = fraction_sub(&taylor->coefficient[n], &sum);
    }
    return fraction_mul(&sum, y);
}

/* The magnitudes and signs of the sine and cosine of a phase. */
struct sincos {
    struct inlay_fixed sin, cos;
    bool sin_negative, cos_negative;
};

static struct sincos exact_sincos(const struct inlay_taylor *taylor, const struct inlay_phase *phase)
{
    struct inlay_fixed radians = inlay_fixed_mul(&phase->turns, &inlay_fixed_two_pi);
    struct inlay_fraction x = fraction_of(&radians);
    struct inlay_fraction y = fraction_mul(&x, &x);
    /* sin x = x - x (y/3! - y^2/5! + ...), cos x = 1 - (y/2! - y^2/4! + ...) */
    struct inlay_fraction below_x = alternating(taylor, 3, &y);
    below_x = fraction_mul(&below_x, &x);
    struct inlay_fraction sine = fraction_sub(&x, &below_x);
    struct inlay_fraction below_one = alternating(taylor, 2, &y);
    struct inlay_fixed one = inlay_fixed_integer(1), versine = fixed_of(&below_one);

    /* sin(q pi/2 + x): +sin x, +cos x, -sin x, -cos x; cos is the sine a quarter turn on. */
    struct inlay_fixed magnitude[2] = {fixed_of(&sine), inlay_fixed_sub(&one, &versine)};
    bool sign[2] = {phase->negative, false};
    unsigned q = phase->quadrant, next = (q + 1) % 4;
    return (struct sincos){
        .sin = magnitude[q & 1],
        .cos = magnitude[next & 1],
        .sin_negative = sign[q & 1] != (q >= 2),
        .cos_negative = sign[next & 1] != (next >= 2),
    };
}

struct inlay_sincos_f64 inlay_exact_sincos_f64(const struct inlay_taylor *taylor, const struct inlay_phase *phase)
{
    struct sincos exact = exact_sincos(taylor, phase);
    return (struct inlay_sincos_f64){
        .sin = fixed_to_f64(&exact.sin, exact.sin_negative),
        .cos = fixed_to_f64(&exact.cos, exact.cos_negative),
    };
}

/* Rounds x, 2^-126 <= x <= 1 or zero, to nearest even. */
static uint32_t round_f32(const struct inlay_fixed *x, bool negative)
{
    struct leading leading = leading_bits(x);
    if (leading.mantissa == 0)
        return 0;
    uint32_t kept = (uint32_t)(leading.mantissa >> 40);
    uint64_t dropped = leading.mantissa << 24;
    const uint64_t half = UINT64_C(1) << 63;
    bool above = dropped > half || (dropped == half && leading.inexact);
    bool tie = dropped == half && !leading.inexact;
    uint32_t up = above || (tie && (kept & 1));
    /* kept has its leading bit at 23, which adds one to the exponent; a carry out of the mantissa adds another. */
    uint32_t exponent = (uint32_t)(126 + 63 + leading.exponent);
    return (uint32_t)negative << 31 | ((exponent << 23) + kept + up);
}

struct inlay_sincos_f32 inlay_exact_sincos_f32(const struct inlay_taylor *taylor, const struct inlay_phase *phase)
{
    struct sincos exact = exact_sincos(taylor, phase);
    return (struct inlay_sincos_f32){
        .sin = round_f32(&exact.sin, exact.sin_negative),
        .cos = round_f32(&exact.cos, exact.cos_negative),
    };
}

uint32_t inlay_exact_sqrt_f32(uint64_t n)
{
    if (n == 0)
        return 0;
    /* n 4^s in [2^62, 2^64) has a root in [2^31, 2^32): 32 bits, of which 24 stay. */
    int s = __builtin_clzll(n) / 2;
    uint64_t scaled = n << (2 * s);
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
        if ((root | bit) * (root | bit) <= scaled)
            root |= bit;
    struct inlay_fixed fixed = {{0, root << 32, 0, 0, root * root != scaled}};
    /* fixed is the root divided by 2^32, which the exponent takes back. */
    return round_f32(&fixed, false) + ((uint32_t)(32 - s) << 23);
}
