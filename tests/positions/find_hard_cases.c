/* SPDX-License-Identifier: MIT */
/*
 * Finds entries of sinusoid tables within 1e-15 of the midpoint of two floats, and prints them as lines for
 * hard_cases.inc. It shares no code with the library: frequencies come from MPFR, phases are 128-bit integers, sine and
 * cosine long doubles, and MPFR confirms each case. It needs 64-bit long doubles (x86).
 *
 *     ninja -C build tests/find_hard_cases && build/tests/find_hard_cases 60 > tests/positions/hard_cases.inc
 */
#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

static uint64_t random_bits(void)
{
    static uint64_t state = 20251121;
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Computes the angle position * base^(-2 pair / dim), in turns if two_pi is not null. */
static void true_angle(mpfr_t angle, double base, unsigned dim, unsigned pair, uint64_t position, mpfr_t two_pi)
{
    mpfr_set_d(angle, base, MPFR_RNDN);
    mpfr_log(angle, angle, MPFR_RNDN);
    mpfr_mul_si(angle, angle, -2L * pair, MPFR_RNDN);
    mpfr_div_ui(angle, angle, dim, MPFR_RNDN);
    mpfr_exp(angle, angle, MPFR_RNDN);
    mpfr_mul_ui(angle, angle, position, MPFR_RNDN);
    if (two_pi != NULL)
        mpfr_div(angle, angle, two_pi, MPFR_RNDN);
}

/* Returns the turns of one position, less than 1, as a multiple of 2^-128. */
static uint128 frequency_of(double base, unsigned dim, unsigned pair, mpfr_t two_pi)
{
    mpfr_t turns, high;
    mpfr_inits2(320, turns, high, (mpfr_ptr)0);
    true_angle(turns, base, dim, pair, 1, two_pi);
    mpfr_mul_2ui(turns, turns, 64, MPFR_RNDN);
    mpfr_floor(high, turns);
    uint128 frequency = (uint128)mpfr_get_ui(high, MPFR_RNDZ) << 64;
    mpfr_sub(turns, turns, high, MPFR_RNDN);
    mpfr_mul_2ui(turns, turns, 64, MPFR_RNDN);
    frequency |= mpfr_get_ui(turns, MPFR_RNDZ);
    mpfr_clears(turns, high, (mpfr_ptr)0);
    return frequency;
}

/* Returns the distance of |value| >= 2^-20 from the midpoint of two floats. */
static long double from_middle(long double value)
{
    int exponent;
    long double mantissa = ldexpl(frexpl(fabsl(value), &exponent), 24);
    return ldexpl(fabsl(mantissa - floorl(mantissa) - 0.5L), exponent - 24);
}

static void confirm(double base, unsigned dim, unsigned pair, uint64_t position, int is_cosine)
{
    mpfr_t value, middle;
    mpfr_inits2(320, value, middle, (mpfr_ptr)0);
    true_angle(value, base, dim, pair, position, NULL);
    if (is_cosine)
        mpfr_cos(value, value, MPFR_RNDN);
    else
        mpfr_sin(value, value, MPFR_RNDN);
    /* The midpoint is the nearest 25-bit number. */
    mpfr_t nearest;
    mpfr_init2(nearest, 25);
    mpfr_set(nearest, value, MPFR_RNDN);
    mpfr_sub(middle, value, nearest, MPFR_RNDN);
    double distance = fabs(mpfr_get_d(middle, MPFR_RNDN));
    if (distance < 1e-15) {
        printf("{%u, %g, %u, %ju, %d}, /* %.1e */\n", dim, base, pair, (uintmax_t)position, is_cosine, distance);
        fflush(stdout);
    }
    mpfr_clears(value, middle, nearest, (mpfr_ptr)0);
}

int main(int argc, char **argv)
{
    static const unsigned dims[] = {2, 6, 50, 64, 128, 512, 768, 1024, 4096};
    static const double bases[] = {10000, 10000, 1000, 500000, 2, 1e6};
    long rounds = argc > 1 ? atol(argv[1]) : 60;
    mpfr_t two_pi;
    mpfr_init2(two_pi, 320);
    mpfr_const_pi(two_pi, MPFR_RNDN);
    mpfr_mul_2ui(two_pi, two_pi, 1, MPFR_RNDN);
    printf("/* dim, base, pair, position, whether it is the cosine; made by find_hard_cases.c */\n");
    /* Rounds are counted, not timed, so one argument always gives the same list. */
    for (long turn = 0; turn < rounds * 300; turn++) {
        unsigned dim = dims[random_bits() % (sizeof dims / sizeof *dims)];
        double base = bases[random_bits() % (sizeof bases / sizeof *bases)];
        unsigned pair = (unsigned)(random_bits() % (dim / 2));
        uint128 frequency = frequency_of(base, dim, pair, two_pi);
        for (int i = 0; i < 50000; i++) {
            uint64_t position = random_bits() >> (i % 3 == 0 ? 33 : 44);
            uint128 turns = frequency * position;
            long double angle =
                ldexpl((long double)(int64_t)(turns >> 64), -64) + ldexpl((long double)(uint64_t)turns, -128);
            angle *= 6.283185307179586476925286766559L;
            long double sine = sinl(angle), cosine = cosl(angle);
            if (fabsl(sine) > 0x1p-20L && from_middle(sine) < 1.1e-15L)
                confirm(base, dim, pair, position, 0);
            if (fabsl(cosine) > 0x1p-20L && from_middle(cosine) < 1.1e-15L)
                confirm(base, dim, pair, position, 1);
        }
    }
    mpfr_clear(two_pi);
    return 0;
}
