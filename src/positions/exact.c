/* SPDX-License-Identifier: MIT */
/*
 * The exact fallback.
 *
 * How many bits are enough: over all positions below 2^31, base 10000 and dims to 4096, the phase is at least 2^-45.34
 * away from a multiple of pi/2 (continued fractions; dim 1024, i = 50, position 1715512116). A frequency is accurate to
 * 2^-240 (2^-220 at the largest dim), a phase to 2^-204, a sine to 2^-190. That is 145 bits of the smallest sine, and
 * binary32 keeps 24 of them: rounding would be undecided only if 120 bits in a row were equal.
 *
 * Bases up to 1e30 make slow frequencies, down to 2^-103 by the exponents of Vaswani et al. and 2^-203 in the last
 * column of some odd dims. There the sine is as small as the phase, and either has 100 bits to spare or rounds to 0.
 */
#include "positions/exact.h"

#include "base/bits.h"

/*
 * Computes the fractional part of the turns |x| * frequency, in limbs 1 .. INLAY_FIXED_LIMBS - 1. Whole turns are
 * dropped; for an integer x, those from the integer part of the frequency too.
 */
static inline void fraction_of_turns(const struct inlay_fixed *frequency, struct inlay_real x,
                                     uint64_t turns[INLAY_FIXED_LIMBS])
{
    uint64_t carry = 0;
    for (int i = INLAY_FIXED_LIMBS - 1; i > 0; i--)
        turns[i] = inlay_mul_add(frequency->limb[i], x.mantissa, 0, &carry);
    if (x.exponent == 0)
        return;
    /* Multiplying by 2^exponent shifts the product right, and its top limbs into the fraction. */
    uint64_t product[INLAY_FIXED_LIMBS + 1];
    product[1] = inlay_mul_add(frequency->limb[0], x.mantissa, 0, &carry);
    product[0] = carry;
    memcpy(product + 2, turns + 1, (INLAY_FIXED_LIMBS - 1) * sizeof *turns);
    int limbs = -x.exponent / 64, bits = -x.exponent % 64;
    for (int i = 1; i < INLAY_FIXED_LIMBS; i++) {
        int from = i + 1 - limbs; /* of product[] */
        uint64_t low = from >= 0 ? product[from] : 0, high = from >= 1 ? product[from - 1] : 0;
        turns[i] = bits > 0 ? low >> bits | high << (64 - bits) : low;
    }
}

/* Subtracts the nearest multiple of a quarter turn from `turns`, which become signed (two's complement), and returns
   it. To round to nearest, an eighth is added before the top two bits are read, and subtracted again. */
static inline unsigned take_quarters(uint64_t turns[INLAY_FIXED_LIMBS])
{
    const uint64_t eighth = UINT64_C(1) << 61;
    uint64_t shifted = turns[1] + eighth;
    turns[1] = (shifted & ((UINT64_C(1) << 62) - 1)) - eighth;
    return (unsigned)(shifted >> 62);
}

struct inlay_phase inlay_phase_of(const struct inlay_fixed *frequency, struct inlay_real x)
{
    struct inlay_phase phase = {{{0}}, 0, false};
    fraction_of_turns(frequency, x, phase.turns.limb);
    phase.quadrant = take_quarters(phase.turns.limb);
    phase.negative = phase.turns.limb[1] >> 63;
    if (phase.negative) /* 0 - turns; limb 0 is 0 and stays it */
        inlay_limbs_sub(phase.turns.limb + 1, inlay_fixed_zero.limb, phase.turns.limb + 1, INLAY_FIXED_LIMBS - 1);
    if (x.negative) {
        phase.quadrant = (4 - phase.quadrant) % 4;
        phase.negative = !phase.negative;
    }
    return phase;
}

double inlay_phase_half_turns(const struct inlay_fixed *frequency, struct inlay_real x, unsigned *quadrant)
{
    /* This combines inlay_phase_of() and rounding, without their branches, since an anchor calls it for every pair. */
    uint64_t turns[INLAY_FIXED_LIMBS];
    fraction_of_turns(frequency, x, turns);
    unsigned quarters = take_quarters(turns);
    *quadrant = x.negative ? (4 - quarters) % 4 : quarters;
    /* The one's complement is 2^-256 less than the negated number, which is negligible. */
    uint64_t sign = 0 - (turns[1] >> 63);
    int i = 1;
    while (i < INLAY_FIXED_LIMBS - 1 && turns[i] == sign)
        i++;
    uint64_t high = turns[i] ^ sign;
    uint64_t low = i + 1 < INLAY_FIXED_LIMBS ? turns[i + 1] ^ sign : 0;
    if (high == 0)
        return 0;
    int zeros = __builtin_clzll(high);
    uint64_t mantissa = high << zeros | low >> 1 >> (63 - zeros);
    /* Round to 53 bits. The leading one, 2^52, adds one to the exponent field; a carry adds another one. */
    uint64_t kept = (mantissa >> 11) + (mantissa >> 10 & 1);
    uint64_t bits = ((uint64_t)(1023 + 63 - 64 * i - zeros) << 52) + kept;
    bits += (uint64_t)((sign != 0) != x.negative) << 63;
    return inlay_f64_of_bits(bits);
}

/* The series are summed in fractions: fixed-point numbers in [0, 1), without their integer limb, which is 0. They are
   passed by address: gcc 12 copies them when passed by value, which makes entries take 1.6 times as long. */

/* Returns a * b, too small by less than 2 * 2^-256. Limb i times limb j has weight 2^(-64 (i + j)). Products below the
   fifth limb of the fraction would only add carries and are omitted. */
static inline struct inlay_fixed fraction_mul(const struct inlay_fixed *a, const struct inlay_fixed *b)
{
    uint64_t product[INLAY_FIXED_LIMBS + 1] = {0};
    for (int i = INLAY_FIXED_LIMBS - 1; i > 0; i--) {
        uint64_t carry = 0;
        for (int j = INLAY_FIXED_LIMBS - i; j > 0; j--)
            product[i + j] = inlay_mul_add(a->limb[i], b->limb[j], product[i + j], &carry);
        product[i] = carry;
    }
    struct inlay_fixed result;
    memcpy(result.limb, product, sizeof result.limb);
    return result;
}

/* Sets *b to a - *b modulo 1. */
static inline void subtract_from(const struct inlay_fixed *a, struct inlay_fixed *b)
{
    inlay_limbs_sub(b->limb + 1, a->limb + 1, b->limb + 1, INLAY_FIXED_LIMBS - 1);
}

void inlay_taylor_init(struct inlay_taylor *taylor)
{
    struct inlay_fixed coefficient = inlay_fixed_one;
    for (uint32_t n = 2; n < INLAY_TAYLOR_TERMS; n++) {
        coefficient = inlay_fixed_div(coefficient, n);
        taylor->coefficient[n] = coefficient;
    }
}

/* Returns y (c[first] - c[first + 2] y + c[first + 4] y^2 - ...) for y <= (pi / 4)^2. Every partial sum of Horner's
   scheme is in [0, 1), since a coefficient times y is less than the previous coefficient. */
static struct inlay_fixed alternating(const struct inlay_taylor *taylor, int first, const struct inlay_fixed *y)
{
    /* The first omitted term is below 2^-207, as (pi / 4)^46 / 46! is; for a small y earlier terms are. */
    int n = INLAY_TAYLOR_TERMS - 4 + first;
    int zeros = y->limb[1] > 0 ? __builtin_clzll(y->limb[1]) : 64;
    while (n > first && zeros * ((n - first) / 2 + 1) >= 207)
        n -= 2;
    struct inlay_fixed sum = taylor->coefficient[n];
    while (n > first) {
        n -= 2;
        sum = fraction_mul(&sum, y);
        subtract_from(&taylor->coefficient[n], &sum);
    }
    return fraction_mul(&sum, y);
}

struct inlay_fixed inlay_exact_sine(const struct inlay_taylor *taylor, const struct inlay_phase *phase, bool *negative)
{
    /* sin(q pi/2 + x): +sin x, +cos x, -sin x, -cos x */
    bool is_cosine = phase->quadrant & 1;
    *negative = (phase->quadrant >= 2) != (phase->negative && !is_cosine);
    struct inlay_fixed x = inlay_fixed_mul(phase->turns, inlay_fixed_two_pi), y = fraction_mul(&x, &x);
    if (is_cosine) /* cos x = 1 - (y/2! - y^2/4! + ...) */
        return inlay_fixed_sub(inlay_fixed_one, alternating(taylor, 2, &y));
    /* sin x = x - x (y/3! - y^2/5! + ...) */
    struct inlay_fixed below_x = alternating(taylor, 3, &y);
    below_x = fraction_mul(&below_x, &x);
    subtract_from(&x, &below_x);
    return below_x;
}

/* Returns the product of x and a * 2^*exponent, which is less than 1. It is exact if the factors together have at most
   256 bits. */
static struct inlay_fixed times(struct inlay_fixed a, struct inlay_real x, int *exponent)
{
    const struct inlay_fixed fraction = {{0, x.mantissa, 0, 0, 0}};
    *exponent += x.exponent + 64;
    return inlay_fixed_mul(a, fraction);
}

void inlay_exact_small_sine(struct inlay_real x, double frequency, double amplitude, struct inlay_fixed *value,
                            int *exponent)
{
    /*
     * sin x is less than x by less than x^3/6, or 2^-162 relative to x. The product of x and the amplitude has at most
     * 159 bits, so it can't be that close to a rounding boundary unless it is exactly on it. The sine therefore rounds
     * like the product minus one unit of a lower place.
     */
    struct inlay_fixed angle = {{0, x.mantissa, 0, 0, 0}};
    int power = x.exponent + 64;
    angle = times(angle, inlay_real_of(frequency), &power);
    if (angle.limb[1] == 0 && angle.limb[2] == 0)
        return;
    int zeros = angle.limb[1] > 0 ? __builtin_clzll(angle.limb[1]) : 64 + __builtin_clzll(angle.limb[2]);
    if (power - zeros > -80)
        return;
    *exponent = power;
    *value = inlay_fixed_sub(times(angle, inlay_real_of(amplitude), exponent), inlay_fixed_unit);
}
