/* SPDX-License-Identifier: MIT */
/*
 * Philox, dropout, and tables of random numbers (random.h and the public header). Floating point is confined to
 * additions, products, quotients and conversions, each rounded as IEEE 754 has it: no libm, whose last bits differ.
 */
#include "table/random.h"

#include "base/fpenv.h"
#include "base/rounding.h"
#include "base/compare.h"
#include "table/element.h"

#include <float.h>
#include <string.h>

/* ---- Philox ----------------------------------------------------------------------------------------------------- */

enum { PHILOX_ROUNDS = 10, RUN_BLOCKS = 16, RUN_WORDS = 4 * RUN_BLOCKS };

static const uint32_t philox_multipliers[2] = {0xd2511f53, 0xcd9e8d57};
static const uint32_t philox_weyl[2] = {0x9e3779b9, 0xbb67ae85};

/* Blocks side by side: [0..3] of counters, which become words. */
struct run {
    uint32_t word[4][RUN_BLOCKS];
};

/* The first so many blocks, a constant where it is called; blocks outside, rounds inside, without exits or calls, so
   that compilers make vectors of it. */
static inline __attribute__((always_inline)) void philox_run(struct run *run, int blocks, uint32_t key_0,
                                                             uint32_t key_1)
{
    for (int i = 0; i < blocks; i++) {
        uint32_t a = run->word[0][i], b = run->word[1][i], c = run->word[2][i], d = run->word[3][i];
        for (uint32_t round = 0; round < PHILOX_ROUNDS; round++) {
            uint64_t first = (uint64_t)philox_multipliers[0] * a, second = (uint64_t)philox_multipliers[1] * c;
            a = (uint32_t)(second >> 32) ^ b ^ (key_0 + round * philox_weyl[0]);
            c = (uint32_t)(first >> 32) ^ d ^ (key_1 + round * philox_weyl[1]);
            b = (uint32_t)second;
            d = (uint32_t)first;
        }
        run->word[0][i] = a;
        run->word[1][i] = b;
        run->word[2][i] = c;
        run->word[3][i] = d;
    }
}

void inlay_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4])
{
    struct run run;
    for (int j = 0; j < 4; j++)
        run.word[j][0] = counter[j];
    philox_run(&run, 1, key[0], key[1]);
    for (int j = 0; j < 4; j++)
        words[j] = run.word[j][0];
}

/* The words of consecutive elements, a run at a time. */
struct stream {
    uint64_t key, offset;
    uint64_t next; /* element */
    uint32_t words[RUN_WORDS];
};

static void stream_fill(struct stream *stream)
{
    struct run run;
    uint64_t block = stream->next / RUN_WORDS * RUN_BLOCKS;
    for (unsigned i = 0; i < RUN_BLOCKS; i++) {
        run.word[0][i] = (uint32_t)(block + i);
        run.word[1][i] = (uint32_t)((block + i) >> 32);
        run.word[2][i] = (uint32_t)stream->offset;
        run.word[3][i] = (uint32_t)(stream->offset >> 32);
    }
    philox_run(&run, RUN_BLOCKS, (uint32_t)stream->key, (uint32_t)(stream->key >> 32));
    for (unsigned i = 0; i < RUN_WORDS; i++)
        stream->words[i] = run.word[i % 4][i / 4];
}

static void stream_begin(struct stream *stream, uint64_t key, uint64_t offset, uint64_t first_element)
{
    stream->key = key;
    stream->offset = offset;
    stream->next = first_element;
    if (first_element % RUN_WORDS != 0) /* else stream_take does */
        stream_fill(stream);
}

/* At most n words of the next elements, consecutive ones in memory. */
static const uint32_t *stream_take(struct stream *stream, size_t n, size_t *taken)
{
    size_t at = (size_t)(stream->next % RUN_WORDS);
    if (at == 0)
        stream_fill(stream);
    *taken = n < RUN_WORDS - at ? n : RUN_WORDS - at;
    stream->next += *taken;
    return stream->words + at;
}

/* ---- Dropout ---------------------------------------------------------------------------------------------------- */

/* p * 2^32, to nearest even, of the bits of 0 <= p < 1. */
static uint32_t threshold_of(float p)
{
    uint32_t bits;
    memcpy(&bits, &p, sizeof bits);
    uint32_t significand = (bits & 0x7fffff) | 0x800000;
    int shift = (int)(bits >> 23) - 150 + 32; /* p = significand * 2^(shift - 32); no subnormal comes near 1/2 */
    if (shift >= 0)
        return significand << shift;
    if (shift < -24)
        return 0;
    uint32_t kept = significand >> -shift, rest = significand - (kept << -shift), half = 1u << (-shift - 1);
    return kept + (rest > half || (rest == half && kept % 2 == 1));
}

void inlay_dropout(unsigned char *row, size_t columns, uint64_t first_element, uint64_t key, uint64_t offset, float p)
{
    const uint32_t threshold = threshold_of(p);
    if (threshold == 0) /* and 1 / (1 - p) rounds to 1 */
        return;
    const float factor = (float)(1 / (1 - (double)p));
    struct stream stream;
    stream_begin(&stream, key, offset, first_element);
    while (columns > 0) {
        size_t n;
        const uint32_t *words = stream_take(&stream, columns, &n);
        for (size_t i = 0; i < n; i++) {
            float x;
            memcpy(&x, row + i * sizeof x, sizeof x);
            x = words[i] >= threshold ? x * factor : 0;
            memcpy(row + i * sizeof x, &x, sizeof x);
        }
        row += n * sizeof(float);
        columns -= n;
    }
}

/* ---- The normal distribution ------------------------------------------------------------------------------------ */

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* -ln x for a normal 0 < x <= 1/2, within 2^-51 of its size. */
static double minus_log(double x)
{
    /* x = m 2^e with m in (sqrt(1/2), sqrt(2)): ln x = e ln 2 + 2 atanh z, z = (m - 1) / (m + 1), |z| < 0.1716: 11
       terms of atanh's series leave less than 2^-60 of it. */
    const double ln_2 = 0x1.62e42fefa39efp-1;
    const uint64_t fraction = (UINT64_C(1) << 52) - 1, one = UINT64_C(1023) << 52, sqrt_2 = UINT64_C(0x6a09e667f3bcc);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    double m = double_of((bits & fraction) | one);
    if ((bits & fraction) > sqrt_2) {
        m = m * 0.5;
        exponent++;
    }
    double z = (m - 1) / (m + 1), z_squared = z * z, series = 0;
    for (int k = 21; k >= 1; k -= 2)
        series = series * z_squared + 1.0 / k;
    return -(exponent * ln_2 + 2 * z * series);
}

/* The square root of 1/2 <= x <= 200, within 2^-51 of its size: four of Heron's steps from a guess that is 4% off. */
static double square_root(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    double root = double_of((bits >> 1) + (UINT64_C(0x1ff7a3bea91d9b1b)));
    for (int step = 0; step < 4; step++)
        root = (root + x / root) * 0.5;
    return root;
}

enum { TERMS = 8 };

static double polynomial(const double coefficients[TERMS], double x)
{
    double value = coefficients[TERMS - 1];
    for (int i = TERMS - 2; i >= 0; i--)
        value = value * x + coefficients[i];
    return value;
}

/* Algorithm AS 241, PPND16 (Wichura 1988), whose quotients of polynomials err by 10^-16 of their size. */
double inlay_normal_quantile(double below, double above)
{
    static const double middle[2][TERMS] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
        {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
         3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3},
    };
    static const double tail[2][TERMS] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
         1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9},
    };
    static const double far_tail[2][TERMS] = {
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
         1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15},
    };
    const double smaller = below < above ? below : above, q = 0.5 - smaller;
    double size;
    if (q <= 0.425) {
        double r = 0.180625 - q * q;
        size = q * polynomial(middle[0], r) / polynomial(middle[1], r);
    } else {
        double r = square_root(minus_log(smaller));
        size = r <= 5 ? polynomial(tail[0], r - 1.6) / polynomial(tail[1], r - 1.6)
                      : polynomial(far_tail[0], r - 5) / polynomial(far_tail[1], r - 5);
    }
    return below < above ? -size : size;
}

/* exp(-x^2 / 2) / sqrt(2 pi), the power from fixed point: x^2 / 2 is less than 2^8. */
static double density(double x)
{
    const double factor = 0x1.9884533d43651p-2; /* 1 / sqrt(2 pi) */
    struct inlay_fixed magnitude = inlay_fixed_of(x), square = inlay_fixed_mul(&magnitude, &magnitude);
    square = inlay_fixed_div(&square, 2);
    int exponent;
    struct inlay_fixed power = inlay_fixed_exp(&square, true, &exponent);
    return factor * inlay_round_f64(&power, exponent, false);
}

double inlay_normal_below(double x)
{
    if (!(x >= -20))
        return 0;
    /* Near the middle 1/2 less the series of x^(2k + 1) / (1 * 3 * .. * (2k + 1)); further out the continued fraction
       1 / (t + 1 / (t + 2 / (t + ...))), which 400 terms exhaust from 1 on. */
    const double t = -x;
    if (t < 1) {
        double term = t, sum = t;
        for (int k = 3; k < 60; k += 2) {
            term = term * t * t / k;
            sum = sum + term;
        }
        return 0.5 - density(t) * sum;
    }
    double rest = t;
    for (int k = 400; k > 0; k--)
        rest = t + k / rest;
    return density(t) / rest;
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

struct table {
    const inlay_random_spec *spec;
    unsigned char *out;
    size_t rows, dim, stride_bytes;
};

/* What the numbers u in (0, 1) are spread over: the shares of the distribution below, within and above the bounds. */
struct spread {
    inlay_random_kind kind;
    double mean, deviation, low, high;
    double below, within, above;
};

static struct spread spread_of(const inlay_random_spec *spec)
{
    struct spread spread = {spec->kind, spec->mean, spec->deviation, spec->low, spec->high, 0, 1, 0};
    if (spec->kind != INLAY_RANDOM_TRUNCATED_NORMAL)
        return spread;
    /* Each share from the tail that it lies in, where it is small and so has its digits. */
    double low_tail = inlay_normal_below(spec->low < 0 ? spec->low : -spec->low);
    double high_tail = inlay_normal_below(spec->high < 0 ? spec->high : -spec->high);
    spread.below = spec->low < 0 ? low_tail : 1 - low_tail;
    spread.above = spec->high < 0 ? 1 - high_tail : high_tail;
    if (spec->low >= 0)
        spread.within = low_tail - high_tail;
    else if (spec->high < 0)
        spread.within = high_tail - low_tail;
    else
        spread.within = 1 - low_tail - high_tail;
    return spread;
}

static double number_of(const struct spread *spread, uint32_t word)
{
    const double u = (word + 0.5) * 0x1p-32, rest = (~word + 0.5) * 0x1p-32; /* exact, as is their sum, 1 */
    if (spread->kind == INLAY_RANDOM_UNIFORM)
        return spread->low + (spread->high - spread->low) * u;
    double z = inlay_normal_quantile(spread->below + spread->within * u, spread->above + spread->within * rest);
    if (spread->kind == INLAY_RANDOM_TRUNCATED_NORMAL) {
        z = z < spread->low ? spread->low : z;
        z = z > spread->high ? spread->high : z;
    }
    return spread->mean + spread->deviation * z;
}

/* Never inlined: what it computes has to stay between entering and leaving the guarded environment. */
static __attribute__((noinline)) void fill(const struct table *table)
{
    const inlay_random_spec *spec = table->spec;
    const struct spread spread = spread_of(spec);
    struct stream stream;
    stream_begin(&stream, spec->key, spec->offset, (uint64_t)spec->first_row * table->dim);
    for (size_t row = 0; row < table->rows; row++) {
        unsigned char *out = table->out + row * table->stride_bytes;
        bool zero = spec->zero_row >= 0 && (uint64_t)spec->first_row + row == (uint64_t)spec->zero_row;
        for (size_t column = 0; column < table->dim;) {
            size_t n;
            const uint32_t *words = stream_take(&stream, table->dim - column, &n);
            for (size_t i = 0; i < n; i++) {
                float x = zero ? 0 : (float)number_of(&spread, words[i]);
                memcpy(out + (column + i) * sizeof x, &x, sizeof x);
            }
            column += n;
        }
    }
}

/* The bits of a double as an integer that is ordered as doubles are, NaN beyond both infinities: comparing them raises
   no exception in the host's environment. */
static int64_t ordered(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? -(bits & INT64_MAX) : bits;
}

static bool finite(double x)
{
    return ordered(x) >= ordered(-(double)FLT_MAX) && ordered(x) <= ordered((double)FLT_MAX);
}

static bool bounds_valid(const inlay_random_spec *spec)
{
    const int64_t infinity = INT64_C(2047) << 52, low = ordered(spec->low), high = ordered(spec->high);
    if (low > high)
        return false;
    if (spec->kind != INLAY_RANDOM_TRUNCATED_NORMAL)
        return finite(spec->low) && finite(spec->high);
    return (finite(spec->low) || low == -infinity) && (finite(spec->high) || high == infinity) && low <= ordered(8) &&
           high >= ordered(-8);
}

inlay_status inlay_table_random(const inlay_random_spec *spec, void *out, size_t rows, size_t dim, size_t stride_bytes)
{
    if (spec == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec) || spec->reserved != 0 || spec->kind < INLAY_RANDOM_NORMAL ||
        spec->kind > INLAY_RANDOM_UNIFORM)
        return INLAY_ERROR_OPTION;
    if (!finite(spec->mean) || !finite(spec->deviation) || ordered(spec->deviation) < 0 || !bounds_valid(spec) ||
        spec->zero_row < -1)
        return INLAY_ERROR_OPTION;
    struct inlay_extent written, read;
    inlay_status status = inlay_check_matrix(out, rows, dim, INLAY_F32, stride_bytes, &written);
    if (status != INLAY_OK || rows == 0)
        return status;
    uint64_t end;
    if (__builtin_add_overflow((uint64_t)spec->first_row, (uint64_t)rows, &end) ||
        __builtin_mul_overflow(end, (uint64_t)dim, &end))
        return INLAY_ERROR_OVERFLOW;
    status = inlay_check_array(spec, spec->size, 1, &read);
    if (status != INLAY_OK)
        return status;
    if (inlay_extents_overlap(written, read))
        return INLAY_ERROR_OVERLAP;
    const struct table table = {spec, out, rows, dim, stride_bytes};
    struct inlay_fpenv host = inlay_fpenv_enter();
    fill(&table);
    inlay_fpenv_leave(host);
    return INLAY_OK;
}
