/* SPDX-License-Identifier: MIT */
/*
 * Philox against its published vectors; dropout and random tables: splits, environments, distributions, and bits that
 * must be the same on every machine.
 */
#include "base/philox.h"
#include "layer/dropout.h"
#include "support/support.h"
#include "table/normal.h"

#include <fenv.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Philox ----------------------------------------------------------------------------------------------------- */

/* Returns the block of four words of a counter and a key, as in the paper. Dropout and random tables are compared with
   it. */
static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4])
{
    memcpy(words, counter, 4 * sizeof *words);
    for (uint32_t round = 0; round < 10; round++) {
        const uint64_t first = UINT64_C(0xd2511f53) * words[0], second = UINT64_C(0xcd9e8d57) * words[2];
        words[0] = (uint32_t)(second >> 32) ^ words[1] ^ (key[0] + round * 0x9e3779b9);
        words[1] = (uint32_t)second;
        words[2] = (uint32_t)(first >> 32) ^ words[3] ^ (key[1] + round * 0xbb67ae85);
        words[3] = (uint32_t)first;
    }
}

static uint32_t word_of(uint64_t element, uint64_t key, uint64_t offset)
{
    const uint32_t counter[4] = {(uint32_t)(element / 4), (uint32_t)(element / 4 >> 32), (uint32_t)offset,
                                 (uint32_t)(offset >> 32)};
    const uint32_t halves[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    uint32_t words[4];
    philox(counter, halves, words);
    return words[element % 4];
}

/* kat_vectors of Random123. Two of the vectors have block numbers of 2^62 and more, which the library doesn't use.
   There the library is compared, at the lower 62 bits, with the function that was just verified. */
START_TEST(philox_has_its_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const uint32_t *counter = known[i].counter, *halves = known[i].key;
        const uint64_t block = counter[0] | (uint64_t)counter[1] << 32, key = halves[0] | (uint64_t)halves[1] << 32;
        const uint64_t offset = counter[2] | (uint64_t)counter[3] << 32, element = block * 4;
        uint32_t words[4];
        philox(counter, halves, words);
        EXPECT(memcmp(words, known[i].words, sizeof words) == 0, "vector %zu: %08x %08x %08x %08x", i, words[0],
               words[1], words[2], words[3]);
        struct inlay_philox_stream stream;
        size_t n;
        inlay_philox_begin(&stream, key, offset, element);
        const uint32_t *found = inlay_philox_take(&stream, 4, &n);
        ck_assert_uint_eq(n, 4);
        for (size_t word = 0; word < 4; word++) {
            const uint32_t wanted = block >> 62 == 0 ? known[i].words[word] : word_of(element + word, key, offset);
            EXPECT(found[word] == wanted, "the library's vector %zu: word %zu is %08x", i, word, found[word]);
        }
    }
}
END_TEST

/* ---- Dropout ---------------------------------------------------------------------------------------------------- */

/* The definition, element by element; the threshold in a wider type. */
static float dropped(float x, uint64_t element, uint64_t key, uint64_t offset, float p)
{
    long double threshold = rintl((long double)p * 0x1p32L);
    if (p == 0)
        return x;
    return word_of(element, key, offset) >= threshold ? x * (float)(1 / (1 - (double)p)) : 0;
}

START_TEST(dropout_is_its_definition)
{
    enum { COLUMNS = 301 };
    static const float ps[] = {0,        0.1f,       0.5f,       0.25f,           0x1.fffffep-1f, 0x1p-32f,
                               0x1p-33f, 0x1.8p-32f, 0x1.4p-31f, 0x1.000002p-33f, 0x1p-149f,      0.9f};
    static const uint64_t firsts[] = {0, 1, 2, 3, 63, 64, 65, (UINT64_C(1) << 34) - 7, UINT64_C(0xfffffffffffffe00)};
    struct arena arena = arena_make(COLUMNS * sizeof(float) + 8);
    float before[COLUMNS];
    struct random random = {1};
    for (size_t i = 0; i < sizeof ps / sizeof *ps; i++)
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
            for (size_t at = 0; at < 4; at++) {
                uint64_t key = random_bits(&random), offset = random_bits(&random);
                size_t columns = COLUMNS - at * 90;
                random_rows(&random, (unsigned char *)before, 1, columns, 0);
                unsigned char *row = arena_place(&arena, columns * sizeof(float), at % 2 ? AT_END : INSIDE, at + 1);
                memcpy(row, before, columns * sizeof(float));
                inlay_dropout(row, columns, firsts[f], key, offset, ps[i]);
                for (size_t column = 0; column < columns; column++) {
                    float wanted = dropped(before[column], firsts[f] + column, key, offset, ps[i]);
                    EXPECT(same_float(float_at(row, column), wanted), "p %a, first %#lx, column %zu: %a is %a, not %a",
                           (double)ps[i], (unsigned long)firsts[f], column, (double)before[column],
                           (double)float_at(row, column), (double)wanted);
                }
                EXPECT(ps[i] != 0 || memcmp(row, before, columns * sizeof(float)) == 0, "p = 0 changes a row");
                EXPECT(arena_untouched_outside(&arena, row, 1, 0, columns * sizeof(float)), "wrote outside the row");
            }
    arena_free(&arena);
}
END_TEST

/* Exact thresholds: the word of an element that equals one is kept, and the one below is dropped. */
START_TEST(the_threshold_is_kept)
{
    unsigned seen = 0;
    for (uint64_t element = 0; element < 200000; element++) {
        uint32_t word = word_of(element, 7, 9);
        if (word < 0x80000000 || word % 256 > 1)
            continue;
        float x = 1, p = (float)(word - word % 256) * 0x1p-32f;
        if (word % 256 == 1) /* the next float is a threshold above it */
            p = nextafterf(p, 1);
        bool kept = word % 256 == 0;
        inlay_dropout((unsigned char *)&x, 1, element, 7, 9, p);
        EXPECT((x != 0) == kept, "word %#x, p %a: %a", word, (double)p, (double)x);
        seen++;
    }
    EXPECT(seen > 300, "%u words next to a threshold", seen);
    /* For small p, the threshold is a fraction of a unit, rounded to nearest even. */
    for (uint64_t element = 0; element < 400000; element++) {
        uint32_t word = word_of(element, 7, 9);
        if (word == 0 || word >= 1u << 21)
            continue;
        for (int quarters = 0; quarters < 4; quarters++) {
            float x = 1, p = ((float)word + 0.25f * (float)quarters) * 0x1p-32f;
            bool kept = quarters < 2 || (quarters == 2 && word % 2 == 0);
            inlay_dropout((unsigned char *)&x, 1, element, 7, 9, p);
            EXPECT((x != 0) == kept, "word %#x, p %a: %a", word, (double)p, (double)x);
        }
        seen++;
    }
    EXPECT(seen > 400, "%u words next to a threshold", seen);
}
END_TEST

START_TEST(dropout_keeps_its_share)
{
    static const float ps[] = {0.1f, 0.5f, 0.01f};
    enum { COLUMNS = 1 << 20, TIMES = 32 };
    static float row[COLUMNS];
    for (size_t i = 0; i < sizeof ps / sizeof *ps; i++) {
        double n = (double)COLUMNS * TIMES, p = (double)ps[i], zeros = 0;
        float factor = (float)(1 / (1 - p));
        for (uint64_t time = 0; time < TIMES; time++) {
            for (int column = 0; column < COLUMNS; column++)
                row[column] = 1;
            inlay_dropout((unsigned char *)row, COLUMNS, time * COLUMNS, i, 0, ps[i]);
            size_t strange = 0, none = 0;
            for (int column = 0; column < COLUMNS; column++) {
                none += row[column] == 0;
                strange += row[column] != 0 && row[column] != factor;
            }
            zeros += (double)none;
            EXPECT(strange == 0, "p %g: %zu elements are neither", p, strange);
        }
        count_checks(COLUMNS * TIMES);
        EXPECT(fabs(zeros - n * p) < 4 * sqrt(n * p * (1 - p)), "p %g: dropped %g of %g", p, zeros, n);
    }
}
END_TEST

START_TEST(cuts_of_dropout_change_nothing)
{
    enum { COLUMNS = 1000 };
    static float whole[COLUMNS], cut[COLUMNS];
    struct random random = {2};
    for (int time = 0; time < 300; time++) {
        random_rows(&random, (unsigned char *)whole, 1, COLUMNS, 0);
        memcpy(cut, whole, sizeof cut);
        uint64_t first = random_bits(&random);
        inlay_dropout((unsigned char *)whole, COLUMNS, first, 3, 4, 0.3f);
        for (size_t column = 0; column < COLUMNS;) {
            size_t n = 1 + random_below(&random, 150);
            n = n < COLUMNS - column ? n : COLUMNS - column;
            inlay_dropout((unsigned char *)(cut + column), n, first + column, 3, 4, 0.3f);
            column += n;
        }
        for (int column = 0; column < COLUMNS; column++)
            EXPECT(same_float(whole[column], cut[column]), "column %d differs where it is cut", column);
    }
}
END_TEST

/* ---- The normal distribution ------------------------------------------------------------------------------------ */

enum { PRECISION = 160 };

/* The share below x, from MPFR: erfc(-x / sqrt 2) / 2. */
static void share_below(mpfr_t share, double x)
{
    mpfr_t root;
    mpfr_init2(root, PRECISION);
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    mpfr_set_d(share, -x, MPFR_RNDN);
    mpfr_div(share, share, root, MPFR_RNDN);
    mpfr_erfc(share, share, MPFR_RNDN);
    mpfr_div_ui(share, share, 2, MPFR_RNDN);
    mpfr_clear(root);
}

START_TEST(shares_are_those_of_mpfr)
{
    mpfr_t share;
    mpfr_init2(share, PRECISION);
    double worst = 0;
    for (double x = -20; x <= 0; x += 0x1p-7) {
        share_below(share, x);
        double got = inlay_normal_below(x);
        mpfr_d_sub(share, got, share, MPFR_RNDN);
        double off = fabs(mpfr_get_d(share, MPFR_RNDN)) / got;
        worst = off > worst ? off : worst;
        EXPECT(off < 0x1p-48, "the share below %a is off by 2^%g of it", x, log2(off));
    }
    printf("shares err by 2^%.1f of their size at the most\n", log2(worst));
    mpfr_clear(share);
}
END_TEST

/* Returns the error of a quantile: the error of the share below it, over the density there. */
static double quantile_error(double below, double z)
{
    mpfr_t share;
    mpfr_init2(share, PRECISION);
    share_below(share, z);
    mpfr_sub_d(share, share, below, MPFR_RNDN);
    double off = mpfr_get_d(share, MPFR_RNDN) / (exp(-z * z / 2) / sqrt(2 * acos(-1)));
    mpfr_clear(share);
    return fabs(off);
}

START_TEST(quantiles_are_those_of_mpfr)
{
    struct random random = {8};
    double worst = 0;
    for (int i = 0; i < 10000; i++) {
        uint32_t word = (uint32_t)random_bits(&random) >> random_below(&random, 32);
        double below = (word + 0.5) * 0x1p-33;
        if (i % 4 == 0) /* truncated far from the middle */
            below *= ldexp(1, -(int)random_below(&random, 80));
        double z = inlay_normal_quantile(below, 1 - below), off = quantile_error(below, z) / fabs(z);
        worst = off > worst ? off : worst;
        EXPECT(off < 0x1p-49, "the quantile at %a is off by 2^%g of it", below, log2(off));
        EXPECT(inlay_normal_quantile(1 - below, below) == -z, "quantiles at %a and above do not mirror", below);
    }
    printf("quantiles err by 2^%.1f of their size at the most\n", log2(worst));
}
END_TEST

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

static const struct table {
    const char *name; /* in `inlay selftest`, which also has these tables */
    inlay_random_spec spec;
    const char *sha256;
} tables[] = {
#include "random_sha256.inc"
};

enum { SPECS = sizeof tables / sizeof *tables, ROWS = 40, DIM = 33 };

static inlay_random_spec spec_of(int i)
{
    inlay_random_spec spec = tables[i].spec;
    spec.size = sizeof spec;
    return spec;
}

START_TEST(tables_have_their_bits_in_every_environment)
{
    static float out[ROWS * DIM];
    for (int i = 0; i < SPECS; i++)
        for (int environment = 0; environment < ENVIRONMENTS; environment++) {
            inlay_random_spec spec = spec_of(i);
            memset(out, 0xff, sizeof out);
            feclearexcept(FE_ALL_EXCEPT);
            set_environment(environment);
            inlay_status status = inlay_table_random(&spec, out, ROWS, DIM, DIM * sizeof(float));
            int raised = fetestexcept(FE_ALL_EXCEPT);
            set_environment(0);
            ck_assert_int_eq(status, INLAY_OK);
            struct digest digest = sha256(out, sizeof out);
            EXPECT(strcmp(digest.text, tables[i].sha256) == 0, "spec %d, environment %d:\n\"%s\",", i, environment,
                   digest.text);
            EXPECT(in_selftest(out, sizeof out), "spec %d: selftest keeps another digest", i);
            EXPECT(raised == 0, "exceptions %#x are raised", (unsigned)raised);
        }
}
END_TEST

START_TEST(tables_are_their_definition)
{
    struct random random = {4};
    size_t stride = DIM * sizeof(float) + 3, bytes = (ROWS - 1) * stride + DIM * sizeof(float);
    struct arena arena = arena_make(bytes + 64);
    for (int i = 0; i < SPECS; i++)
        for (int placement = AT_BEGIN; placement <= AT_END; placement++) {
            inlay_random_spec spec = spec_of(i);
            /* A part of the table, in two calls. */
            size_t first = random_below(&random, 1000), half = 1 + random_below(&random, ROWS - 1);
            unsigned char *out = arena_place(&arena, bytes, (enum placement)placement, 0);
            spec.first_row = first;
            ck_assert_int_eq(inlay_table_random(&spec, out, half, DIM, stride), INLAY_OK);
            spec.first_row = first + half;
            unsigned char *rest = out + half * stride;
            ck_assert_int_eq(inlay_table_random(&spec, rest, ROWS - half, DIM, stride), INLAY_OK);
            EXPECT(arena_untouched_outside(&arena, out, ROWS, stride, DIM * sizeof(float)), "wrote outside its rows");
            double low_share = erfc(-spec.low / sqrt(2)) / 2, high_share = erfc(-spec.high / sqrt(2)) / 2;
            double high_rest = erfc(spec.high / sqrt(2)) / 2, low_rest = erfc(spec.low / sqrt(2)) / 2;
            bool bounded = spec.kind == INLAY_RANDOM_TRUNCATED_NORMAL;
            double within = spec.low > 0 ? low_rest - high_rest : high_share - low_share;
            for (size_t row = 0; row < ROWS; row++)
                for (size_t column = 0; column < DIM; column++) {
                    float got = float_at(out + row * stride, column);
                    uint32_t word = word_of((first + row) * DIM + column, spec.key, spec.offset);
                    double u = (word + 0.5) * 0x1p-32, wanted, off;
                    if (spec.zero_row == (int64_t)(first + row)) {
                        EXPECT(got == 0 && !signbit(got), "row %zu is not zeros", row);
                        continue;
                    }
                    if (spec.kind == INLAY_RANDOM_UNIFORM) {
                        wanted = spec.low + (spec.high - spec.low) * u;
                        off = fabs(got - wanted) - 0x1p-24 * fabs(wanted);
                    } else {
                        /* One Newton step gives the error. */
                        double z = (got - spec.mean) / spec.deviation;
                        double above = (bounded ? high_rest : 0) + (bounded ? within : 1) * (1 - u);
                        double share = erfc(z / sqrt(2)) / 2;
                        off = fabs(share - above) / (exp(-z * z / 2) / sqrt(2 * acos(-1))) -
                              0x1.1p-24 * fabs((double)got) / spec.deviation - 1e-9;
                        EXPECT(!bounded || (got >= (float)(spec.mean + spec.deviation * spec.low) &&
                                            got <= (float)(spec.mean + spec.deviation * spec.high)),
                               "%a is out of bounds", (double)got);
                    }
                    EXPECT(off <= 0, "spec %d, row %zu, column %zu: %a is off by %g more than it may", i, row, column,
                           (double)got, off);
                }
        }
    arena_free(&arena);
}
END_TEST

START_TEST(rows_of_zeros)
{
    float out[5][DIM], with[5][DIM];
    inlay_random_spec spec = inlay_random_spec_default(INLAY_RANDOM_NORMAL, 5);
    spec.first_row = 10;
    ck_assert_int_eq(inlay_table_random(&spec, out, 5, DIM, sizeof *out), INLAY_OK);
    for (int64_t zero = 9; zero <= 15; zero++) {
        spec.zero_row = zero;
        ck_assert_int_eq(inlay_table_random(&spec, with, 5, DIM, sizeof *out), INLAY_OK);
        static const float zeros[DIM];
        for (int row = 0; row < 5; row++)
            EXPECT(memcmp(with[row], row + 10 == zero ? zeros : out[row], sizeof *out) == 0, "zeros in %d: row %d",
                   (int)zero, row);
    }
}
END_TEST

START_TEST(distributions_have_their_moments)
{
    enum { N = 1 << 20 };
    static float x[N];
    /* The variance of the normal distribution within two deviations: 1 - 4 phi(2) / (Phi(2) - Phi(-2)). */
    static const double variances[] = {1, 0.77374125, 1.0 / 12}, means[] = {0, 0, 0.5};
    for (int i = 0; i < 3; i++) {
        inlay_random_spec spec = inlay_random_spec_default((inlay_random_kind)(i + 1), 99);
        ck_assert_int_eq(inlay_table_random(&spec, x, N / 1024, 1024, 4096), INLAY_OK);
        double sum = 0, squares = 0, least = INFINITY, largest = -INFINITY;
        for (int k = 0; k < N; k++) {
            double y = (double)x[k] - means[i];
            sum += y;
            squares += y * y;
            least = y < least ? y : least;
            largest = y > largest ? y : largest;
        }
        double mean = sum / N, variance = squares / N - mean * mean, reach = i == 0 ? 6.4 : i == 1 ? 2 : 0.5;
        EXPECT(fabs(mean) < 4 * sqrt(variances[i] / N), "kind %d: mean %g", i, mean);
        /* The deviation of the variance is at most that for a normal distribution. */
        EXPECT(fabs(variance - variances[i]) < 4 * variances[i] * sqrt(2.0 / N), "kind %d: variance %g", i, variance);
        EXPECT(least >= -reach && largest <= reach, "kind %d: from %g to %g", i, least, largest);
        EXPECT(largest > reach * 0.7 && least < -reach * 0.7, "kind %d: only from %g to %g", i, least, largest);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "random", NULL, NULL, philox_has_its_known_answers, dropout_is_its_definition,
                     the_threshold_is_kept, dropout_keeps_its_share, cuts_of_dropout_change_nothing,
                     shares_are_those_of_mpfr, quantiles_are_those_of_mpfr, tables_have_their_bits_in_every_environment,
                     tables_are_their_definition, rows_of_zeros, distributions_have_their_moments);
}
