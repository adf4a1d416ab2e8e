/* SPDX-License-Identifier: MIT */
/*
 * The exact fallback against MPFR: constants, frequencies, and the phases and entries that are hardest to round.
 * verify.c draws random rows and positions.
 */
#include "support/support.h"
#include "support/truth.h"

#include "base/rounding.h"
#include "positions/exact.h"
#include "positions/sinusoid.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 320 };

static void fixed_to_mpfr(mpfr_t to, const struct inlay_fixed *x)
{
    mpfr_t limb;
    mpfr_init2(limb, 64);
    mpfr_set_ui(to, 0, MPFR_RNDN);
    for (int i = 0; i < INLAY_FIXED_LIMBS; i++) {
        mpfr_set_uj(limb, x->limb[i], MPFR_RNDN);
        mpfr_div_2ui(limb, limb, 64 * (unsigned)i, MPFR_RNDN);
        mpfr_add(to, to, limb, MPFR_RNDN);
    }
    mpfr_clear(limb);
}

/* |x - truth| < 2^-bits */
static bool within(const struct inlay_fixed *x, mpfr_t truth, long bits)
{
    mpfr_t difference;
    mpfr_init2(difference, PRECISION + 64);
    fixed_to_mpfr(difference, x);
    mpfr_sub(difference, difference, truth, MPFR_RNDN);
    bool close = mpfr_zero_p(difference) || mpfr_get_exp(difference) <= -bits;
    mpfr_clear(difference);
    return close;
}

START_TEST(constants_are_those_of_mpfr)
{
    mpfr_t truth;
    mpfr_init2(truth, PRECISION);
    mpfr_const_pi(truth, MPFR_RNDN);
    mpfr_mul_2ui(truth, truth, 1, MPFR_RNDN);
    EXPECT(within(&inlay_fixed_two_pi, truth, 255), "2 pi is off");
    mpfr_ui_div(truth, 1, truth, MPFR_RNDN);
    EXPECT(within(&inlay_fixed_inverse_two_pi, truth, 255), "1 / (2 pi) is off");
    mpfr_clear(truth);
}
END_TEST

START_TEST(multiplication_is_the_same_without_128_bit_integers)
{
    static const uint64_t edges[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX, UINT64_MAX - 1, INT64_MAX};
    struct random random = {7};
    for (int i = 0; i < 20000; i++) {
        uint64_t operand[4];
        for (int k = 0; k < 4; k++)
            operand[k] = random_below(&random, 3) == 0 ? edges[random_below(&random, 7)] : random_bits(&random);
        uint64_t carry = operand[3], carry_portable = operand[3];
        uint64_t low = inlay_mul_add(operand[0], operand[1], operand[2], &carry);
        uint64_t low_portable = inlay_mul_add_portable(operand[0], operand[1], operand[2], &carry_portable);
        EXPECT(low == low_portable && carry == carry_portable, "portable product differs at round %d", i);
    }
}
END_TEST

static const double bases[] = {1, 1.4142135623730951, 2, 1000, 10000, 500000, 1e30};

START_TEST(logarithm_and_exponential_are_within_their_bounds)
{
    mpfr_t truth;
    mpfr_init2(truth, PRECISION);
    struct random random = {11};
    for (int i = 0; i < 300; i++) {
        double x = (size_t)i < sizeof bases / sizeof *bases ? bases[i] : exp2(random_unit(&random) * 99);
        struct inlay_fixed logarithm = inlay_fixed_ln(x);
        mpfr_set_d(truth, x, MPFR_RNDN);
        mpfr_log(truth, truth, MPFR_RNDN);
        EXPECT(within(&logarithm, truth, 240), "ln(%.17g) is off", x);
        int exponent;
        struct inlay_fixed exponential = inlay_fixed_exp(logarithm, true, &exponent);
        exponential = inlay_fixed_shift_right(exponential, (unsigned)-exponent);
        fixed_to_mpfr(truth, &logarithm);
        mpfr_neg(truth, truth, MPFR_RNDN);
        mpfr_exp(truth, truth, MPFR_RNDN);
        EXPECT(within(&exponential, truth, 240), "exp(-ln(%.17g)) is off", x);
    }
    mpfr_clear(truth);
}
END_TEST

/* frequency := base^(-2i / dim) */
static void true_frequency(mpfr_t frequency, size_t dim, double base, size_t i)
{
    mpfr_set_d(frequency, base, MPFR_RNDN);
    truth_power(frequency, frequency, 2 * i, dim);
}

static const size_t dims[] = {1, 2, 3, 6, 50, 512, 4096};

START_TEST(frequencies_are_those_of_mpfr)
{
    mpfr_t truth, two_pi;
    mpfr_inits2(PRECISION, truth, two_pi, (mpfr_ptr)0);
    mpfr_const_pi(two_pi, MPFR_RNDN);
    mpfr_mul_2ui(two_pi, two_pi, 1, MPFR_RNDN);
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
            inlay_sinusoid *sinusoid = make_sinusoid(dims[d], bases[b], INLAY_SINUSOID_LAYOUT_SPLIT);
            for (size_t i = 0; i < sinusoid->pairs; i += 1 + i / 16) {
                true_frequency(truth, dims[d], bases[b], i);
                mpfr_div(truth, truth, two_pi, MPFR_RNDN);
                EXPECT(within(&sinusoid->frequencies[i], truth, 230), "frequency %zu of dim %zu, base %g is off", i,
                       dims[d], bases[b]);
            }
            inlay_sinusoid_destroy(sinusoid);
        }
    mpfr_clears(truth, two_pi, (mpfr_ptr)0);
}
END_TEST

/* Returns the real number in a column, rounded once. */
static float true_entry(size_t dim, double base, uint32_t position, size_t pair, bool is_cosine)
{
    mpfr_t angle, truth;
    mpfr_inits2(PRECISION, angle, truth, (mpfr_ptr)0);
    true_frequency(angle, dim, base, pair);
    mpfr_mul_ui(angle, angle, position, MPFR_RNDN);
    if (is_cosine)
        mpfr_cos(truth, angle, MPFR_RNDN);
    else
        mpfr_sin(truth, angle, MPFR_RNDN);
    float rounded = mpfr_get_flt(truth, MPFR_RNDN);
    mpfr_clears(angle, truth, (mpfr_ptr)0);
    return rounded;
}

static void check_entry(size_t dim, double base, uint32_t position, size_t pair, bool is_cosine, float found)
{
    float rounded = true_entry(dim, base, position, pair, is_cosine);
    EXPECT(found == rounded && !signbit(found) == !signbit(rounded),
           "position %u, dim %zu, base %g, %s of pair %zu: %a, but MPFR says %a", position, dim, base,
           is_cosine ? "cosine" : "sine", pair, (double)found, (double)rounded);
}

/* Compares every `every`-th column of a row with MPFR: entries must be the real number rounded once. */
static void check_row(const inlay_sinusoid *sinusoid, size_t dim, double base, uint32_t position, size_t every)
{
    float *row = malloc(dim * sizeof *row);
    write_rows(sinusoid, position, 1, INLAY_F32, row, dim * sizeof *row);
    for (size_t column = 0; column < dim; column += every)
        check_entry(dim, base, position, column / 2, column % 2, row[column]);
    free(row);
}

/*
 * The positions below 2^31 with angles closest to a multiple of pi/2, i.e. the smallest sines and cosines, found with
 * continued fractions by tests/positions/worst_phases.py.
 */
static const struct {
    size_t dim;
    double base;
    size_t pair;
    uint32_t position;
} worst[] = {
#include "worst_phases.inc"
};

START_TEST(worst_phases_are_rounded_as_promised)
{
    for (size_t i = 0; i < sizeof worst / sizeof *worst; i++) {
        inlay_sinusoid *sinusoid = make_sinusoid(worst[i].dim, worst[i].base, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
        for (int64_t near = -2; near <= 2; near++) {
            int64_t position = worst[i].position + near;
            if (position >= 0 && position < INLAY_POSITION_LIMIT)
                check_row(sinusoid, worst[i].dim, worst[i].base, (uint32_t)position, worst[i].dim > 512 ? 19 : 3);
        }
        /* The worst pair itself, which `every` may have skipped. */
        float row[4096];
        ck_assert_uint_le(worst[i].dim, 4096);
        write_rows(sinusoid, worst[i].position, 1, INLAY_F32, row, sizeof row);
        float sine = row[2 * worst[i].pair], cosine = row[2 * worst[i].pair + 1];
        check_entry(worst[i].dim, worst[i].base, worst[i].position, worst[i].pair, false, sine);
        check_entry(worst[i].dim, worst[i].base, worst[i].position, worst[i].pair, true, cosine);
        EXPECT(fabsf(sine) < 0x1p-40f || fabsf(cosine) < 0x1p-40f, "phase %zu is not near a multiple of pi/2", i);
        inlay_sinusoid_destroy(sinusoid);
    }
}
END_TEST

/*
 * Entries within 1e-15 of the midpoint of two floats, which the rounding test leaves undecided, found by
 * find_hard_cases.c without this library. Each is tested at the start of a block, after one step, deep in the block and
 * in its last row.
 */
static const struct {
    size_t dim;
    double base;
    size_t pair;
    uint32_t position;
    int is_cosine;
} hard[] = {
#include "hard_cases.inc"
};

START_TEST(hard_cases_are_rounded_as_promised)
{
    static const uint32_t depths[] = {0, 1, 17, 100, 254, 255, 256, 300};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        size_t dim = hard[i].dim;
        inlay_sinusoid *sinusoid = make_sinusoid(dim, hard[i].base, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
        float *rows = malloc(301 * dim * sizeof *rows);
        float rounded = true_entry(dim, hard[i].base, hard[i].position, hard[i].pair, hard[i].is_cosine);
        for (size_t d = 0; d < sizeof depths / sizeof *depths && depths[d] < hard[i].position; d++) {
            if (tested == &inlay_kernels_scalar && d > 1)
                break; /* it has no blocks */
            write_rows(sinusoid, hard[i].position - depths[d], depths[d] + 1, INLAY_F32, rows, dim * sizeof *rows);
            float found = rows[depths[d] * dim + 2 * hard[i].pair + (size_t)hard[i].is_cosine];
            EXPECT(found == rounded, "dim %zu, base %g, pair %zu, position %u, %u rows into a block: %a, not %a", dim,
                   hard[i].base, hard[i].pair, hard[i].position, depths[d], (double)found, (double)rounded);
        }
        free(rows);
        inlay_sinusoid_destroy(sinusoid);
    }
}
END_TEST

/* 53-bit numbers, to the last limb: doubles without rounding. */
START_TEST(every_bit_of_fixed_point_is_rounded)
{
    enum { BITS = 64 * INLAY_FIXED_LIMBS };
    for (int first = 0; first < BITS; first++) {
        struct inlay_fixed x[2];
        memset(&x[0], 0, sizeof x[0]);
        memset(&x[1], 0xff, sizeof x[1]); /* not part of the number */
        double wanted = 0;
        for (int bit = first; bit < BITS && bit <= first + 52; bit += 13) {
            x[0].limb[bit / 64] |= UINT64_C(1) << (63 - bit % 64);
            wanted += ldexp(1, 63 - bit);
        }
        const double found = inlay_round_f64(x[0], 0, false);
        EXPECT(found == wanted, "from bit %d: %a, not %a", first, found, wanted);
    }
}
END_TEST

START_TEST(square_roots_are_correctly_rounded)
{
    mpfr_t root;
    mpfr_init2(root, 24);
    struct random random = {17};
    for (uint64_t i = 0; i < 40000; i++) {
        uint64_t n = i < 20000 ? i : random_bits(&random) >> random_below(&random, 64);
        if (i >= 39000) { /* 25-bit roots: every odd one is a tie */
            uint64_t tie = (UINT64_C(1) << 24) + random_below(&random, 1 << 24);
            n = tie * tie;
        }
        n = i == 20000 ? SIZE_MAX : n > SIZE_MAX ? n >> 32 : n;
        mpfr_t exact;
        mpfr_init2(exact, 64);
        mpfr_set_uj(exact, n, MPFR_RNDN);
        mpfr_sqrt(root, exact, MPFR_RNDN);
        EXPECT(inlay_sqrt_dim((size_t)n) == mpfr_get_flt(root, MPFR_RNDN), "sqrt(%ju) is %a", (uintmax_t)n,
               (double)inlay_sqrt_dim((size_t)n));
        mpfr_clear(exact);
    }
    mpfr_clear(root);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "exact", NULL, NULL, constants_are_those_of_mpfr,
                     multiplication_is_the_same_without_128_bit_integers,
                     logarithm_and_exponential_are_within_their_bounds, frequencies_are_those_of_mpfr,
                     every_bit_of_fixed_point_is_rounded, square_roots_are_correctly_rounded,
                     worst_phases_are_rounded_as_promised, hard_cases_are_rounded_as_promised);
}
