/* SPDX-License-Identifier: MIT */
/*
 * Compares the norm and cast kernels of the ISA under test with scalar, bit by bit: all dims that end a vector
 * differently, all alignments, buffers adjacent to guard pages, and in place. Compares scalar with a long double
 * reference, and casts with MPFR's roundings.
 */
#include "support/support.h"
#include "support/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 4097, ROWS = 6, MAX_PADDING = 67, DIMS = 135 };

static size_t nth_dim(size_t i)
{
    static const size_t large[] = {384, 768, 4095, 4096, 4097};
    return i < 130 ? i + 1 : large[i - 130];
}

/* ---- Norms ------------------------------------------------------------------------------------------------------ */

/* Options of a norm that scales rows to a root mean square of 1. UNIT, without CENTERED, scales them to a length of
   1. */
enum { CENTERED = 1, SCALED = 2, SHIFTED = 4, IN_PLACE = 8, UNIT = 16, ALL_TERMS = 32 };

struct norm_case {
    size_t dim, padding;
    enum placement placement;
    size_t offset;
    unsigned terms;
    float epsilon;
    bool stream; /* out is on a cache line, and so is each row */
};

enum { GAMMA, BETA, IN, OUT, EXPECTED, ARENAS };
static struct arena arenas[ARENAS];

static void make_arenas(void)
{
    for (int i = 0; i < ARENAS; i++)
        arenas[i] = arena_make((i <= BETA ? 1 : ROWS) * (MAX_DIM * sizeof(float) + MAX_PADDING) + 64);
}

static void free_arenas(void)
{
    for (int i = 0; i < ARENAS; i++)
        arena_free(&arenas[i]);
}

/* Contents of rows. Special values are rare, since one of them turns a whole row into NaN. */
enum content { ORDINARY, ZEROS, HUGE_VALUES, TINY, WITH_INFINITY, WITH_NAN, ANY, CONTENTS };

static float content_float(struct random *random, enum content content)
{
    static const float factors[CONTENTS] = {1, 0, 0x1p63f, 0x1p-130f, 1, 1, 1};
    float x;
    do
        x = random_float(random);
    while (content != ANY && !(fabsf(x) >= 0x1p-64f && fabsf(x) < 0x1p64f));
    return content == ANY ? x : x * factors[content]; /* a product would make every NaN quiet */
}

static void fill(struct random *random, unsigned char *row, size_t dim, enum content content)
{
    for (size_t column = 0; column < dim; column++) {
        float x = content_float(random, content);
        memcpy(row + column * sizeof x, &x, sizeof x);
    }
    const float special = content == WITH_INFINITY ? -INFINITY : NAN;
    if (content == WITH_INFINITY || content == WITH_NAN)
        memcpy(row + random_below(random, dim) * sizeof special, &special, sizeof special);
}

static inlay_norm norm_of(unsigned terms)
{
    return terms & CENTERED ? INLAY_NORM_LAYER : terms & UNIT ? INLAY_NORM_L2 : INLAY_NORM_RMS;
}

static void run_norm(const struct inlay_kernels *kernels, const struct norm_case *c, const unsigned char *rows,
                     const unsigned char *gamma, const unsigned char *beta, unsigned char *out)
{
    size_t stride = c->dim * sizeof(float) + c->padding;
    const unsigned char *from[ROWS];
    unsigned char *to[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        to[i] = out + i * stride;
        from[i] = c->terms & IN_PLACE ? to[i] : rows + i * stride;
    }
    const struct inlay_norm_tile tile = {.rows = from,
                                         .out = to,
                                         .count = ROWS,
                                         .columns = c->dim,
                                         .norm = norm_of(c->terms),
                                         .epsilon = c->epsilon,
                                         .gamma = gamma,
                                         .beta = beta,
                                         .stream = c->stream};
    kernels->norm(&tile);
}

/* Runs the norm under test on one row. */
static void norm_row(const float *row, size_t dim, inlay_norm norm, float epsilon, const float *gamma,
                     const float *beta, float *out)
{
    const unsigned char *from[] = {(const unsigned char *)row};
    unsigned char *to[] = {(unsigned char *)out};
    const struct inlay_norm_tile tile = {.rows = from,
                                         .out = to,
                                         .count = 1,
                                         .columns = dim,
                                         .norm = norm,
                                         .epsilon = epsilon,
                                         .gamma = (const unsigned char *)gamma,
                                         .beta = (const unsigned char *)beta};
    tested->norm(&tile);
}

static void check_norm(const struct norm_case *c, enum content content, uint64_t seed)
{
    struct random random = {seed};
    size_t row_bytes = c->dim * sizeof(float), stride = row_bytes + c->padding, bytes = (ROWS - 1) * stride + row_bytes;
    unsigned char *rows = arena_place(&arenas[IN], bytes, c->placement, c->offset);
    unsigned char *gamma = arena_place(&arenas[GAMMA], row_bytes, c->placement, c->offset);
    unsigned char *beta = arena_place(&arenas[BETA], row_bytes, c->placement, c->offset);
    for (size_t i = 0; i < ROWS; i++)
        fill(&random, rows + i * stride, c->dim, content);
    fill(&random, gamma, c->dim, ORDINARY);
    fill(&random, beta, c->dim, ORDINARY);
    unsigned char *out[2];
    for (int i = 0; i < 2; i++) {
        out[i] = arena_place(i ? &arenas[EXPECTED] : &arenas[OUT], bytes, c->placement, c->offset);
        for (size_t row = 0; row < ROWS; row++)
            memcpy(out[i] + row * stride, rows + row * stride, row_bytes);
        run_norm(i ? &inlay_kernels_scalar : tested, c, rows, c->terms & SCALED ? gamma : NULL,
                 c->terms & SHIFTED ? beta : NULL, out[i]);
    }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t column = 0; column < c->dim; column++) {
            float got = float_at(out[0] + i * stride, column), wanted = float_at(out[1] + i * stride, column);
            EXPECT(same_float(got, wanted),
                   "dim %zu, padding %zu, placement %d, offset %zu, terms %#x, content %d: row %zu, column %zu is %a, "
                   "scalar has %a",
                   c->dim, c->padding, (int)c->placement, c->offset, c->terms, (int)content, i, column, (double)got,
                   (double)wanted);
        }
    EXPECT(arena_untouched_outside(&arenas[OUT], out[0], ROWS, stride, row_bytes),
           "dim %zu, padding %zu, placement %d, offset %zu: wrote outside its rows", c->dim, c->padding,
           (int)c->placement, c->offset);
}

START_TEST(norms_of_every_dim_against_both_guard_pages)
{
    static const size_t paddings[] = {0, 4, 67};
    for (size_t i = 0; i < DIMS; i++)
        for (int at = AT_BEGIN; at <= AT_END; at++)
            for (unsigned terms = 0; terms < ALL_TERMS; terms++) {
                struct norm_case c = {
                    .dim = nth_dim(i),
                    .padding = paddings[(i + terms) % 3],
                    .placement = (enum placement)at,
                    .terms = terms,
                    .epsilon = terms & CENTERED ? 1e-5f : 1e-12f,
                };
                check_norm(&c, ORDINARY, i * ALL_TERMS + terms);
            }
}
END_TEST

START_TEST(norms_at_every_alignment)
{
    for (size_t i = 0; i < DIMS; i++)
        for (size_t offset = 0; offset < 64; offset++) {
            struct norm_case c = {
                .dim = nth_dim(i),
                .padding = offset % 5,
                .placement = INSIDE,
                .offset = offset,
                .terms = (offset % 2 == i % 2 ? CENTERED : 0) | (offset % 3 > 0 ? SCALED : 0) |
                         (offset % 7 > 1 ? SHIFTED : 0) | (offset % 4 == 0 ? IN_PLACE : 0) |
                         (offset % 5 == 0 ? UNIT : 0),
                .epsilon = 1e-6f,
            };
            check_norm(&c, ORDINARY, i * 64 + offset);
        }
}
END_TEST

/* Rows on cache lines, written by non-temporal stores. */
START_TEST(streamed_norms)
{
    for (size_t i = 0; i < DIMS; i++)
        for (unsigned terms = 0; terms < ALL_TERMS; terms++) {
            const size_t bytes = nth_dim(i) * sizeof(float);
            struct norm_case c = {
                .dim = nth_dim(i),
                .padding = (INLAY_CACHE_LINE - bytes % INLAY_CACHE_LINE) % INLAY_CACHE_LINE,
                .placement = INSIDE,
                .terms = terms,
                .epsilon = 1e-6f,
                .stream = true,
            };
            check_norm(&c, ORDINARY, i * ALL_TERMS + terms);
        }
}
END_TEST

START_TEST(norms_of_special_rows)
{
    static const float epsilons[] = {0, 1e-5f, 0x1p-149f, INFINITY, -1};
    for (size_t dim = 1; dim <= 100; dim += 3)
        for (int content = ORDINARY; content < CONTENTS; content++)
            for (unsigned terms = 0; terms < ALL_TERMS; terms += terms == 7 ? 9 : 1)
                for (size_t e = 0; e < sizeof epsilons / sizeof *epsilons; e++) {
                    struct norm_case c = {
                        .dim = dim,
                        .placement = AT_END,
                        .terms = terms,
                        .epsilon = epsilons[e],
                    };
                    check_norm(&c, (enum content)content, dim * 64 + terms);
                }
}
END_TEST

/* Fills a row with values around 1, deviating by a share of that. Squares cancel for shares below 1 / 16. */
static void fill_around_one(struct random *random, float *row, size_t dim, float share)
{
    for (size_t column = 0; column < dim; column++)
        row[column] = 1 + share * ((float)random_below(random, 4097) / 2048 - 1);
}

static double lane_sum(const double *l)
{
    return (((l[0] + l[8]) + (l[4] + l[12])) + ((l[2] + l[10]) + (l[6] + l[14]))) +
           (((l[1] + l[9]) + (l[5] + l[13])) + ((l[3] + l[11]) + (l[7] + l[15])));
}

/* Returns a column of the norm, as stated in dispatch/kernels.h. */
static float normalized(float x, double mean, double factor, float gamma, float beta)
{
    const float high = (float)mean, low = (float)(mean - high), narrow = (float)factor;
    if (factor < 0x1p-100 || factor > 0x1p100)
        return (float)((x - mean) * factor * gamma + beta);
    float value = (x - high) - low;
    value = value * narrow;
    value = value * gamma;
    return value + beta;
}

/* Computes the contract by hand. Rows are large enough to be normalized in double. Floats rarely show the order in
   which doubles were added, so beta subtracts the float and leaves the last bits of the double. */
START_TEST(lanes_are_added_as_stated)
{
    enum { DIM = 35 };
    static const float shares[] = {1, 0x1p-2f, 0x1p-3f, 0x1p-4f, 0x1p-10f, 0};
    float row[DIM], beta[DIM], out[DIM];
    size_t summed_again = 0;
    for (int seed = 0; seed < 600; seed++) {
        struct random random = {(uint64_t)seed};
        fill_around_one(&random, row, DIM, shares[seed % 6]);
        double values[16] = {0}, squares[16] = {0}, deviations[16] = {0};
        for (int column = 0; column < DIM; column++) {
            row[column] *= 0x1p120f;
            values[column % 16] += row[column];
            squares[column % 16] += (double)row[column] * row[column];
        }
        double mean = lane_sum(values) / DIM, variance = lane_sum(squares) / DIM - mean * mean;
        if (variance < mean * mean / 256) {
            for (int column = 0; column < DIM; column++)
                deviations[column % 16] += (row[column] - mean) * (row[column] - mean);
            variance = lane_sum(deviations) / DIM;
            summed_again++;
        }
        double factor = 1 / sqrt(variance + 0x1p-50);
        for (int column = 0; column < DIM; column++)
            beta[column] = -(float)((row[column] - mean) * factor);
        norm_row(row, DIM, INLAY_NORM_LAYER, 0x1p-50f, NULL, beta, out);
        for (int column = 0; column < DIM; column++) {
            float wanted = normalized(row[column], mean, factor, 1, beta[column]);
            EXPECT(same_float(out[column], wanted), "seed %d, column %d is %a, not %a", seed, column,
                   (double)out[column], (double)wanted);
        }
    }
    EXPECT(summed_again > 200 && summed_again < 400, "the variances of %zu of 600 rows were summed again",
           summed_again);
}
END_TEST

/* The terms of gathered rows that are summed for a norm. */
struct gather_case {
    float scale;
    bool positioned, segmented;
    inlay_norm norm;
};

/* Returns the sums of a row, as stated in dispatch/kernels.h. */
static struct inlay_row_sums sums_of(const unsigned char *row, size_t dim)
{
    double values[16] = {0}, squares[16] = {0};
    for (size_t column = 0; column < dim; column++) {
        const double x = (double)float_at(row, column);
        values[column % 16] += x;
        squares[column % 16] += x * x;
    }
    return (struct inlay_row_sums){lane_sum(values), lane_sum(squares)};
}

static void check_gather(const struct gather_case *c, size_t dim, enum placement placement)
{
    struct random random = {dim};
    const size_t bytes = dim * sizeof(float);
    unsigned char *tokens = arena_place(&arenas[IN], ROWS * bytes, placement, 0);
    const unsigned char *const position = arena_place(&arenas[GAMMA], bytes, placement, 0);
    const unsigned char *const segment = arena_place(&arenas[BETA], bytes, placement, 0);
    fill(&random, arena_place(&arenas[GAMMA], bytes, placement, 0), dim, ORDINARY);
    fill(&random, arena_place(&arenas[BETA], bytes, placement, 0), dim, ORDINARY);
    const unsigned char *rows[ROWS], *positions[ROWS], *segments[ROWS];
    unsigned char *out[2][ROWS];
    unsigned char *places[] = {arena_place(&arenas[OUT], ROWS * bytes, placement, 0),
                               arena_place(&arenas[EXPECTED], ROWS * bytes, placement, 0)};
    struct inlay_row_sums sums[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        fill(&random, tokens + i * bytes, dim, ORDINARY);
        rows[i] = tokens + i * bytes;
        positions[i] = position;
        segments[i] = segment;
        for (int k = 0; k < 2; k++)
            out[k][i] = places[k] + i * bytes;
    }
    for (int k = 0; k < 2; k++) {
        const struct inlay_kernels *kernels = k == 0 ? tested : &inlay_kernels_scalar;
        const struct inlay_embed_tile gather = {.type = INLAY_F32,
                                                .out_type = INLAY_F32,
                                                .rows = rows,
                                                .positions = c->positioned ? positions : NULL,
                                                .segments = c->segmented ? segments : NULL,
                                                .out = out[k],
                                                .sums = k == 0 ? sums : NULL,
                                                .squares_only = c->norm != INLAY_NORM_LAYER,
                                                .count = ROWS,
                                                .columns = dim,
                                                .scale = c->scale};
        kernels->embed(&gather);
        for (size_t i = 0; i < ROWS && k == 0; i++) {
            const struct inlay_row_sums wanted = sums_of(out[k][i], dim);
            EXPECT(sums[i].squares == wanted.squares && (gather.squares_only || sums[i].values == wanted.values),
                   "dim %zu, row %zu: sums are %a and %a, not %a and %a", dim, i, sums[i].values, sums[i].squares,
                   wanted.values, wanted.squares);
        }
        const struct inlay_norm_tile norm = {.rows = (const unsigned char *const *)out[k],
                                             .out = out[k],
                                             .sums = gather.sums,
                                             .count = ROWS,
                                             .columns = dim,
                                             .norm = c->norm,
                                             .epsilon = 1e-12f};
        kernels->norm(&norm);
    }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t column = 0; column < dim; column++) {
            const float got = float_at(out[0][i], column), wanted = float_at(out[1][i], column);
            EXPECT(same_float(got, wanted), "dim %zu, scale %g, norm %d: row %zu, column %zu is %a, scalar has %a", dim,
                   (double)c->scale, (int)c->norm, i, column, (double)got, (double)wanted);
        }
    EXPECT(arena_untouched_outside(&arenas[OUT], places[0], ROWS, bytes, bytes), "dim %zu: wrote outside its rows",
           dim);
}

START_TEST(norms_with_the_sums_of_gathered_rows)
{
    static const struct gather_case cases[] = {
        {1, false, false, INLAY_NORM_LAYER},   {1, true, false, INLAY_NORM_LAYER},  {1, true, true, INLAY_NORM_LAYER},
        {0.75f, false, false, INLAY_NORM_RMS}, {0.75f, true, false, INLAY_NORM_L2}, {0.75f, true, true, INLAY_NORM_RMS},
        {1, false, false, INLAY_NORM_L2},      {1, true, false, INLAY_NORM_RMS},    {1, true, true, INLAY_NORM_RMS},
        {0.75f, true, true, INLAY_NORM_LAYER},
    };
    for (size_t i = 0; i < DIMS && tested->sums; i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            for (int at = AT_BEGIN; at <= AT_END; at++)
                check_gather(&cases[k], nth_dim(i), (enum placement)at);
}
END_TEST

static double ulp_of(float x)
{
    return (double)(nextafterf(fabsf(x), INFINITY) - fabsf(x));
}

/*
 * The bound. For the statistics, in units of u = 2^-53 and for d = dim: a lane adds d/16 + 1 terms and the lanes are
 * added in four steps. So a sum of positive terms has an error of at most n = d/16 + 6 units, including the roundings
 * of its terms. The mean has an error of n u times the mean of |x|, which is M sigma, M = mean |x| / sigma. The mean
 * square and the square of the mean are each at most 257 times the variance. So the variance has an error of 258 n u
 * and two roundings; or, if it is summed again, of n u and the square of the mean's error. The factor has half of that
 * and two roundings.
 *
 * Then come five roundings to float of the product (two differences, the factor, two products) and one of the sum. The
 * pair has an error of 2^-48 times the mean. A result below 2^-126 has an absolute error.
 */
START_TEST(norms_are_within_their_bound)
{
    static const float shares[] = {0, 1, 0x1p-3f, 0x1p-4f, 0x1p-12f};
    static float row[MAX_DIM], gamma[MAX_DIM], beta[MAX_DIM], out[MAX_DIM];
    double worst = 0;
    for (size_t i = 0; i < DIMS * 5; i++)
        for (inlay_norm norm = INLAY_NORM_LAYER; norm <= INLAY_NORM_L2; norm++) {
            const bool centered = norm == INLAY_NORM_LAYER;
            size_t dim = nth_dim(i / 5);
            struct random random = {i};
            if (i % 5 > 0)
                fill_around_one(&random, row, dim, shares[i % 5]);
            else
                fill(&random, (unsigned char *)row, dim, ORDINARY);
            fill(&random, (unsigned char *)gamma, dim, ORDINARY);
            fill(&random, (unsigned char *)beta, dim, ORDINARY);
            const float epsilon = 1e-5f;
            long double mean = 0, magnitude = 0, squares = 0;
            for (size_t column = 0; column < dim; column++) {
                mean += centered ? (long double)row[column] : 0;
                magnitude += fabsl((long double)row[column]);
            }
            mean /= (long double)dim;
            magnitude /= (long double)dim;
            for (size_t column = 0; column < dim; column++)
                squares += (row[column] - mean) * (row[column] - mean);
            long double factor = 1 / sqrtl(squares / (long double)dim + (long double)epsilon);
            if (norm == INLAY_NORM_L2)
                factor = 1 / fmaxl(sqrtl(squares), (long double)epsilon);
            norm_row(row, dim, norm, epsilon, gamma, beta, out);
            double u = 0x1p-53, n = (double)dim / 16 + 8;
            double mean_error = centered ? n * u * (double)magnitude : 0;
            double factor_error = (centered ? 258 : 1) * n * u + mean_error * mean_error * (double)(factor * factor);
            for (size_t column = 0; column < dim; column++) {
                long double normal = (row[column] - mean) * factor, wanted = normal * gamma[column] + beta[column];
                double error = (double)fabsl(normal) * (factor_error / 2 + (centered ? 5 : 3) * 0x1p-24);
                error += (mean_error + 0x1p-48 * (double)fabsl(mean)) * (double)factor;
                double bound = 1.01 * (error * fabs((double)gamma[column]) + 0x1p-149 * (1 + fabsf(gamma[column])));
                bound += 0.5 * ulp_of((float)wanted);
                double off = (double)fabsl(out[column] - wanted);
                worst = off / bound > worst ? off / bound : worst;
                EXPECT(off <= bound, "dim %zu, norm %d, column %zu: %a is off %a by more than %a", dim, (int)norm,
                       column, (double)out[column], (double)wanted, bound);
            }
        }
    EXPECT(worst > 0.9, "the bound is too large: no error is above %g of it", worst);
}
END_TEST

/* Takes roots of every size, with rows of one column. The root's reciprocal times that column is about 1. Where that is
   computed in double, a float doesn't show its last bits: beta subtracts that float. */
START_TEST(roots_are_correctly_rounded)
{
    struct random random = {5};
    for (int i = 0; i < 200000; i++) {
        uint32_t bits[3];
        float value[3], out;
        for (int k = 0; k < 3; k++) {
            bits[k] = (uint32_t)random_bits(&random) & 0x7fffffff;
            bits[k] %= 0x7f800001; /* up to infinity */
            memcpy(&value[k], &bits[k], sizeof value[k]);
        }
        float x = value[0], epsilon = i % 3 ? value[1] : x * x * 0x1p-20f;
        double factor = 1 / sqrt((double)x * x + (double)epsilon);
        /* Subtracting the adjacent float leaves the last bits of the double. */
        float near = -(float)((double)x * factor), one = 1;
        norm_row(&x, 1, INLAY_NORM_RMS, epsilon, &one, &near, &out);
        float wanted = normalized(x, 0, factor, one, near);
        EXPECT(same_float(out, wanted), "%a, epsilon %a: %a, not %a", (double)x, (double)epsilon, (double)out,
               (double)wanted);
    }
}
END_TEST

/* Framework conventions for rows with a length far from 1, or 0: PyTorch's F.normalize divides by max(length, 1e-12),
   model2vec by length + 1e-32 and NumPy users by the length. */
START_TEST(lengths)
{
    static const struct {
        float row[3], epsilon, wanted[3];
    } cases[] = {
        {{3, 0, -4}, 0, {0.6f, 0, -0.8f}},
        {{0, -0.0f, 0}, 1e-12f, {0, -0.0f, 0}},
        {{0, 0, 0}, 1e-32f, {0, 0, 0}},
        {{0, 0, 0}, 0, {NAN, NAN, NAN}},
        {{3e-13f, 0, 4e-13f}, 1e-12f, {3e-13f / 1e-12f, 0, 4e-13f / 1e-12f}},
        {{3e-13f, 0, 4e-13f}, 1e-32f, {0.6f, 0, 0.8f}},
        {{0, 0x1p-149f, 0}, 1e-38f, {0, (float)(0x1p-149 / (double)1e-38f), 0}},
        {{0, 0x1p-149f, 0}, 0, {0, 1, 0}},
        {{0, -0x1.fffffep127f, 0}, 0, {0, -1, 0}},
        {{1, INFINITY, 0}, 0, {0, NAN, 0}},
        {{1, NAN, 0}, 1, {NAN, NAN, NAN}},
        {{4, 0, 0}, 8, {0.5f, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float out[3];
        norm_row(cases[i].row, 3, INLAY_NORM_L2, cases[i].epsilon, NULL, NULL, out);
        for (int column = 0; column < 3; column++) {
            const float got = out[column], wanted = cases[i].wanted[column];
            EXPECT(same_float(got, wanted) || fabsf(got - wanted) < 0x1p-22f * fabsf(wanted),
                   "case %zu, column %d is %a, not %a", i, column, (double)got, (double)wanted);
        }
    }
}
END_TEST

/* ---- Casts ------------------------------------------------------------------------------------------------------ */

static void run_cast(const struct inlay_kernels *kernels, inlay_element_type type, const unsigned char *row,
                     size_t columns, unsigned char *out, bool stream)
{
    const unsigned char *from[] = {row};
    unsigned char *to[] = {out};
    const struct inlay_embed_tile tile = {.type = INLAY_F32,
                                          .out_type = type,
                                          .rows = from,
                                          .out = to,
                                          .count = 1,
                                          .columns = columns,
                                          .scale = 1,
                                          .stream = stream};
    kernels->embed(&tile);
    if (stream)
        __sync_synchronize();
}

/* Returns the value of a 16-bit number; infinity is the next power of two, as for rounding to nearest. */
static double half_value(uint32_t magnitude, inlay_element_type type)
{
    int fraction_bits = type == INLAY_F16 ? 10 : 7, bias = type == INLAY_F16 ? 15 : 127;
    uint32_t exponent = magnitude >> fraction_bits, fraction = magnitude & ((1u << fraction_bits) - 1);
    if (exponent == 0)
        return ldexp(fraction, 1 - bias - fraction_bits);
    return ldexp(fraction + (1u << fraction_bits), (int)exponent - bias - fraction_bits);
}

static uint32_t infinity_of(inlay_element_type type)
{
    return type == INLAY_F16 ? 0x7c00 : 0x7f80;
}

/* Returns the quiet bit of a NaN. */
static uint32_t quiet_of(inlay_element_type type)
{
    return type == INLAY_F16 ? 0x200 : 0x40;
}

static uint32_t rounded(uint32_t bits, inlay_element_type type)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    if (!isnan(x))
        return truth_rounded((double)x, type);
    /* It becomes quiet and keeps the payload's upper bits. */
    uint32_t payload = (bits & 0x7fffff) >> (type == INLAY_F16 ? 13 : 16);
    return (bits >> 16 & 0x8000) | infinity_of(type) | payload | quiet_of(type);
}

/* Returns true if a number is the wanted one. A NaN may lose its sign and payload only on RISC-V, where arithmetic
   returns a single NaN. */
static bool same_half(uint32_t got, uint32_t wanted, inlay_element_type type)
{
#ifdef __riscv
    if ((wanted & 0x7fff) > infinity_of(type))
        return (got & 0x7fff) > infinity_of(type) && (got & quiet_of(type));
#endif
    (void)type;
    return got == wanted;
}

static uint32_t half_at(const unsigned char *row, size_t column)
{
    uint16_t half;
    memcpy(&half, row + 2 * column, sizeof half);
    return half;
}

static void check_halves(const uint32_t *values, size_t n, inlay_element_type type)
{
    struct arena out = arena_make(n * 2);
    for (int stream = 0; stream <= 1; stream++) {
        unsigned char *to = arena_place(&out, n * 2, AT_END, 0);
        run_cast(tested, type, (const unsigned char *)values, n, to, stream);
        for (size_t i = 0; i < n; i++) {
            uint32_t wanted = rounded(values[i], type), got = half_at(to, i);
            EXPECT(same_half(got, wanted, type), "type %d, %#x: %#x, not %#x", (int)type, values[i], got, wanted);
        }
    }
    arena_free(&out);
}

static uint32_t bits_of(double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

/* Casts every number of the type, the midpoint between it and the next one, and the floats adjacent to both. */
START_TEST(every_half_and_the_middles)
{
    enum { EACH = 6, MAX = 0x8000 * EACH * 2 };
    static uint32_t values[MAX];
    for (inlay_element_type type = INLAY_F16; type <= INLAY_BF16; type++) {
        size_t n = 0;
        for (uint32_t magnitude = 0; magnitude < infinity_of(type); magnitude++) {
            double x = half_value(magnitude, type), next = half_value(magnitude + 1, type);
            uint32_t at = bits_of(x), middle = bits_of(x / 2 + next / 2);
            const uint32_t each[EACH] = {at, at + 1, at > 0 ? at - 1 : 0, middle, middle + 1, middle - 1};
            for (int i = 0; i < EACH; i++)
                for (uint32_t sign = 0; sign < 2; sign++)
                    values[n++] = each[i] | sign << 31;
        }
        check_halves(values, n, type);
    }
}
END_TEST

/* Casts all 65536 numbers of the type as floats, which gives the same numbers; a NaN becomes quiet. */
START_TEST(every_half_gives_itself)
{
    static uint32_t values[65536];
    static uint16_t out[65536];
    for (inlay_element_type type = INLAY_F16; type <= INLAY_BF16; type++) {
        uint32_t infinity = infinity_of(type);
        for (uint32_t half = 0; half < 65536; half++) {
            uint32_t magnitude = half & 0x7fff, fraction = magnitude & (infinity ^ 0x7fff);
            values[half] = magnitude < infinity ? bits_of(half_value(magnitude, type))
                                                : 0x7f800000 | fraction << (type == INLAY_F16 ? 13 : 16);
            values[half] |= (half & 0x8000) << 16;
        }
        run_cast(tested, type, (const unsigned char *)values, 65536, (unsigned char *)out, false);
        for (uint32_t half = 0; half < 65536; half++) {
            uint32_t wanted = (half & 0x7fff) > infinity ? half | quiet_of(type) : half;
            EXPECT(same_half(out[half], wanted, type), "type %d: %#x became %#x", (int)type, half, (uint32_t)out[half]);
        }
    }
}
END_TEST

START_TEST(payloads_and_the_largest)
{
    static uint32_t values[4096];
    static const uint32_t picked[] = {0x7f800000, 0x7f800001, 0x7f807fff, 0x7f808000, 0x7fbfffff, 0x7fc00000,
                                      0x7fffffff, 0x7fff8000, 0x7fff7fff, 0x7f7fffff, 0x7f7f8000, 0x7f7f7fff,
                                      0x477fe000, 0x477fefff, 0x477ff000, 0x477ff001, 0x33000000, 0x33000001,
                                      0x00000001, 0x00007fff, 0x00008000, 0x00008001, 0x007fffff, 0x00000000};
    enum { PICKED = sizeof picked / sizeof *picked };
    struct random random = {11};
    for (size_t i = 0; i < 4096; i++)
        values[i] = i < 2 * PICKED ? picked[i / 2] | (uint32_t)(i % 2) << 31
                    : i % 2        ? (uint32_t)random_bits(&random)
                                   : (uint32_t)random_bits(&random) | 0x7f800000;
    check_halves(values, 4096, INLAY_F16);
    check_halves(values, 4096, INLAY_BF16);
}
END_TEST

START_TEST(casts_of_every_dim_and_alignment)
{
    struct random random = {17};
    for (size_t i = 0; i < DIMS; i++)
        for (inlay_element_type type = INLAY_F32; type <= INLAY_BF16; type++)
            for (size_t offset = 0; offset < 66; offset++)
                for (int stream = 0; stream <= 1; stream++) {
                    size_t dim = nth_dim(i), bytes = inlay_table_row_bytes(type, dim);
                    enum placement placement = offset < 64 ? INSIDE : offset == 64 ? AT_BEGIN : AT_END;
                    if (dim > 130 && offset < 64 && offset % 7 > 0)
                        continue;
                    unsigned char *row = arena_place(&arenas[IN], dim * 4, placement, offset * 3 % 64);
                    random_rows(&random, row, 1, dim, dim * 4);
                    unsigned char *expected = arena_place(&arenas[EXPECTED], bytes, AT_END, 0);
                    run_cast(&inlay_kernels_scalar, type, row, dim, expected, false);
                    unsigned char *out = arena_place(&arenas[OUT], bytes, placement, offset);
                    run_cast(tested, type, row, dim, out, stream);
                    EXPECT(memcmp(out, expected, bytes) == 0, "dim %zu, type %d, offset %zu, stream %d: not scalar's",
                           dim, (int)type, offset, stream);
                    EXPECT(type != INLAY_F32 || memcmp(out, row, bytes) == 0, "dim %zu: a copy is none", dim);
                    EXPECT(arena_untouched_outside(&arenas[OUT], out, 1, bytes, bytes),
                           "dim %zu, type %d, offset %zu, stream %d: wrote outside its row", dim, (int)type, offset,
                           stream);
                    if (stream)
                        continue;
                    run_cast(tested, type, row, dim, row, false);
                    EXPECT(memcmp(row, expected, bytes) == 0, "dim %zu, type %d, offset %zu: not scalar's in place",
                           dim, (int)type, offset);
                }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "norm", make_arenas, free_arenas, norms_of_every_dim_against_both_guard_pages,
                     norms_at_every_alignment, streamed_norms, norms_of_special_rows, lanes_are_added_as_stated,
                     norms_with_the_sums_of_gathered_rows, norms_are_within_their_bound, roots_are_correctly_rounded,
                     lengths, every_half_and_the_middles, every_half_gives_itself, payloads_and_the_largest,
                     casts_of_every_dim_and_alignment);
}
