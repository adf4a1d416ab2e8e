/* SPDX-License-Identifier: MIT */
/*
 * Rotary frequencies against MPFR, which computes each formula as in Hugging Face, with signs and clamps, without fixed
 * point: all must be correctly rounded. Also the frequencies of real models, and every error.
 */
#include "support/support.h"
#include "support/truth.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <mpfr.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 500, MAX_DIM = 4096 };

static double short_factors[MAX_DIM / 2], long_factors[MAX_DIM / 2];

/* ---- The formulas, in MPFR --------------------------------------------------------------------------------------- */

/* base * stretch^(dim / (dim - 2)), where stretch is factor * max(length, original) / original - (factor - 1) if
   dynamic, else factor. */
static void true_ntk_base(mpfr_t base, const inlay_rotary_spec *spec, bool dynamic)
{
    mpfr_t stretch, other;
    mpfr_inits2(PRECISION, stretch, other, (mpfr_ptr)0);
    mpfr_set_d(base, spec->base, MPFR_RNDN);
    mpfr_set_d(stretch, spec->factor, MPFR_RNDN);
    if (dynamic) {
        mpfr_mul_d(stretch, stretch, fmax(spec->length, spec->original_length), MPFR_RNDN);
        mpfr_div_d(stretch, stretch, spec->original_length, MPFR_RNDN);
        mpfr_set_d(other, spec->factor, MPFR_RNDN);
        mpfr_sub_ui(other, other, 1, MPFR_RNDN);
        mpfr_sub(stretch, stretch, other, MPFR_RNDN);
    }
    if (spec->dim > 2) {
        mpfr_set_ui(other, spec->dim, MPFR_RNDN);
        mpfr_div_ui(other, other, spec->dim - 2, MPFR_RNDN);
        mpfr_pow(stretch, stretch, other, MPFR_RNDN);
        mpfr_mul(base, base, stretch, MPFR_RNDN);
    }
    mpfr_clears(stretch, other, (mpfr_ptr)0);
}

/* frequency := (1 - kept) * frequency / factor + kept * frequency */
static void true_blend(mpfr_t frequency, mpfr_t kept, double factor)
{
    mpfr_t divided;
    mpfr_init2(divided, PRECISION);
    mpfr_ui_sub(divided, 1, kept, MPFR_RNDN);
    mpfr_mul(divided, divided, frequency, MPFR_RNDN);
    mpfr_div_d(divided, divided, factor, MPFR_RNDN);
    mpfr_mul(frequency, frequency, kept, MPFR_RNDN);
    mpfr_add(frequency, frequency, divided, MPFR_RNDN);
    mpfr_clear(divided);
}

/* By wavelengths, as in the model's code. */
static void true_llama3(mpfr_t frequency, const inlay_rotary_spec *spec)
{
    mpfr_t wavelength, smooth, width;
    mpfr_inits2(PRECISION, wavelength, smooth, width, (mpfr_ptr)0);
    mpfr_const_pi(wavelength, MPFR_RNDN);
    mpfr_mul_ui(wavelength, wavelength, 2, MPFR_RNDN);
    mpfr_div(wavelength, wavelength, frequency, MPFR_RNDN);
    mpfr_d_div(smooth, spec->original_length, wavelength, MPFR_RNDN);
    if (mpfr_cmp_d(smooth, spec->low_freq_factor) < 0)
        mpfr_div_d(frequency, frequency, spec->factor, MPFR_RNDN);
    else if (mpfr_cmp_d(smooth, spec->high_freq_factor) <= 0) {
        mpfr_sub_d(smooth, smooth, spec->low_freq_factor, MPFR_RNDN);
        mpfr_set_d(width, spec->high_freq_factor, MPFR_RNDN);
        mpfr_sub_d(width, width, spec->low_freq_factor, MPFR_RNDN);
        mpfr_div(smooth, smooth, width, MPFR_RNDN);
        true_blend(frequency, smooth, spec->factor);
    }
    mpfr_clears(wavelength, smooth, width, (mpfr_ptr)0);
}

/* dim * ln(original / (rotations * 2 pi)) / (2 ln(base)) */
static void true_correction_dim(mpfr_t place, const inlay_rotary_spec *spec, double rotations)
{
    mpfr_t ln_base;
    mpfr_init2(ln_base, PRECISION);
    mpfr_const_pi(place, MPFR_RNDN);
    mpfr_mul_ui(place, place, 2, MPFR_RNDN);
    mpfr_mul_d(place, place, rotations, MPFR_RNDN);
    mpfr_d_div(place, spec->original_length, place, MPFR_RNDN);
    mpfr_log(place, place, MPFR_RNDN);
    mpfr_mul_ui(place, place, spec->dim, MPFR_RNDN);
    mpfr_set_d(ln_base, spec->base, MPFR_RNDN);
    mpfr_log(ln_base, ln_base, MPFR_RNDN);
    mpfr_mul_ui(ln_base, ln_base, 2, MPFR_RNDN);
    mpfr_div(place, place, ln_base, MPFR_RNDN);
    mpfr_clear(ln_base);
}

static void true_yarn(mpfr_t frequency, const inlay_rotary_spec *spec, size_t i)
{
    mpfr_t low, high, ramp;
    mpfr_inits2(PRECISION, low, high, ramp, (mpfr_ptr)0);
    true_correction_dim(low, spec, spec->beta_fast);
    true_correction_dim(high, spec, spec->beta_slow);
    if (spec->truncate) {
        mpfr_floor(low, low);
        mpfr_ceil(high, high);
    }
    if (mpfr_sgn(low) < 0)
        mpfr_set_ui(low, 0, MPFR_RNDN);
    if (mpfr_cmp_ui(high, spec->dim - 1) > 0)
        mpfr_set_ui(high, spec->dim - 1, MPFR_RNDN);
    if (mpfr_equal_p(low, high)) {
        mpfr_set_ui(ramp, 1, MPFR_RNDN);
        mpfr_div_ui(ramp, ramp, 1000, MPFR_RNDN);
        mpfr_add(high, high, ramp, MPFR_RNDN);
    }
    mpfr_ui_sub(ramp, i, low, MPFR_RNDN);
    mpfr_sub(high, high, low, MPFR_RNDN);
    mpfr_div(ramp, ramp, high, MPFR_RNDN);
    if (mpfr_sgn(ramp) < 0)
        mpfr_set_ui(ramp, 0, MPFR_RNDN);
    if (mpfr_cmp_ui(ramp, 1) > 0)
        mpfr_set_ui(ramp, 1, MPFR_RNDN);
    mpfr_ui_sub(ramp, 1, ramp, MPFR_RNDN);
    true_blend(frequency, ramp, spec->factor);
    mpfr_clears(low, high, ramp, (mpfr_ptr)0);
}

static double true_frequency(const inlay_rotary_spec *spec, size_t i)
{
    mpfr_t frequency, base;
    mpfr_inits2(PRECISION, frequency, base, (mpfr_ptr)0);
    mpfr_set_d(base, spec->base, MPFR_RNDN);
    if (spec->scaling == INLAY_ROTARY_NTK || spec->scaling == INLAY_ROTARY_DYNAMIC_NTK)
        true_ntk_base(base, spec, spec->scaling == INLAY_ROTARY_DYNAMIC_NTK);
    truth_power(frequency, base, 2 * i, spec->dim);
    if (spec->scaling == INLAY_ROTARY_LINEAR)
        mpfr_div_d(frequency, frequency, spec->factor, MPFR_RNDN);
    if (spec->scaling == INLAY_ROTARY_LLAMA3)
        true_llama3(frequency, spec);
    if (spec->scaling == INLAY_ROTARY_YARN)
        true_yarn(frequency, spec, i);
    if (spec->scaling == INLAY_ROTARY_LONGROPE) {
        bool is_long = spec->length > spec->original_length;
        mpfr_div_d(frequency, frequency, (is_long ? spec->long_factors : spec->short_factors)[i], MPFR_RNDN);
    }
    double rounded = mpfr_get_d(frequency, MPFR_RNDN);
    mpfr_clears(frequency, base, (mpfr_ptr)0);
    return rounded;
}

/* to = 0.1 * weight * ln(factor) + 1 */
static void true_mscale(mpfr_t to, const inlay_rotary_spec *spec, double weight)
{
    mpfr_set_d(to, spec->factor, MPFR_RNDN);
    mpfr_log(to, to, MPFR_RNDN);
    mpfr_mul_d(to, to, weight, MPFR_RNDN);
    mpfr_div_ui(to, to, 10, MPFR_RNDN);
    mpfr_add_ui(to, to, 1, MPFR_RNDN);
}

static double true_attention(const inlay_rotary_spec *spec)
{
    bool has_one = spec->scaling == INLAY_ROTARY_YARN || spec->scaling == INLAY_ROTARY_LONGROPE;
    if (!has_one)
        return 1;
    if (spec->attention_factor != 0)
        return spec->attention_factor;
    mpfr_t truth, other;
    mpfr_inits2(PRECISION, truth, other, (mpfr_ptr)0);
    if (spec->scaling == INLAY_ROTARY_LONGROPE) {
        mpfr_set_d(truth, spec->factor, MPFR_RNDN);
        mpfr_log(truth, truth, MPFR_RNDN);
        mpfr_set_d(other, spec->original_length, MPFR_RNDN);
        mpfr_log(other, other, MPFR_RNDN);
        mpfr_div(truth, truth, other, MPFR_RNDN);
        mpfr_add_ui(truth, truth, 1, MPFR_RNDN);
        mpfr_sqrt(truth, truth, MPFR_RNDN);
    } else if (spec->mscale != 0 && spec->mscale_all_dim != 0) {
        true_mscale(truth, spec, spec->mscale);
        true_mscale(other, spec, spec->mscale_all_dim);
        mpfr_div(truth, truth, other, MPFR_RNDN);
    } else
        true_mscale(truth, spec, 1);
    double rounded = mpfr_get_d(truth, MPFR_RNDN);
    mpfr_clears(truth, other, (mpfr_ptr)0);
    return rounded;
}

/* ---- Against MPFR ------------------------------------------------------------------------------------------------ */

/* Every frequency (of many, some) and the attention factor. */
static void check_spec(const inlay_rotary_spec *spec)
{
    static double inv_freq[MAX_DIM / 2];
    double attention_factor;
    char text[512];
    snprintf(text, sizeof text,
             "scaling %d, dim %zu, base %a, factor %a, original %a, length %a, low %a, high %a, fast %a, slow %a, "
             "truncate %u, mscale %a, %a",
             (int)spec->scaling, spec->dim, spec->base, spec->factor, spec->original_length, spec->length,
             spec->low_freq_factor, spec->high_freq_factor, spec->beta_fast, spec->beta_slow, spec->truncate,
             spec->mscale, spec->mscale_all_dim);
    inlay_status status = inlay_rotary_frequencies(spec, inv_freq, &attention_factor);
    EXPECT(status == INLAY_OK, "\"%s\" for %s", inlay_status_string(status), text);
    for (size_t i = 0; i < spec->dim / 2; i += 1 + i / 32) {
        double truth = true_frequency(spec, i);
        EXPECT(inv_freq[i] == truth, "frequency %zu is %a, but MPFR says %a: %s", i, inv_freq[i], truth, text);
    }
    double truth = true_attention(spec);
    EXPECT(attention_factor == truth, "attention factor %a, but MPFR says %a: %s", attention_factor, truth, text);
}

static double random_between(struct random *random, double least, double most)
{
    double x = least * exp2(random_unit(random) * log2(most / least));
    return x < least ? least : x > most ? most : x;
}

/* Numbers of one kind: usual values, and the range of all others. */
struct range {
    double least, most;
    double usual[10];
    size_t n; /* number of usual values */
};

static const struct range base_range = {
    1, 1e30, {10000, 500000, 1e6, 150000, 2, 65536, 0x1p40, 1e30, 1e9 + 7, 1.5}, 10};
static const struct range factor_range = {1, 1e6, {1, 2, 3, 4, 8, 32, 40, 0.1 * 15, 1e6, 65536}, 10};
static const struct range length_range = {
    2, 0x1.fffffffffffffp30, {2, 2048, 4096, 8192, 32768, 131072, 524288, 2.5, 100, 0x1p31 - 1}, 10};
static const struct range rotations_range = {0x1p-20, 1e6, {1, 4, 32, 0x1p-20, 1e6, 0.5}, 6};
static const struct range mscale_range = {0x1p-30, 100, {0, 1, 0.707, 0.1, 100, 0x1p-1074}, 6};
static const struct range long_factor_range = {0x1p-20, 0x1p20, {1, 2, 0.5, 1.08, 64.4, 0x1p20, 0x1p-20}, 7};

/* Returns a usual number half of the time, otherwise any in the range; sometimes close to an end. */
static double random_number(struct random *random, const struct range *range)
{
    uint64_t kind = random_below(random, 16);
    if (kind < 8)
        return range->usual[random_below(random, range->n)];
    if (kind == 8)
        return nextafter(range->least, range->most);
    if (kind == 9)
        return nextafter(range->most, range->least);
    if (kind == 10)
        return range->least + (double)random_below(random, 64) * range->least * 0x1p-52;
    return random_between(random, range->least, range->most);
}

static void random_factors(struct random *random)
{
    for (size_t i = 0; i < MAX_DIM / 2; i++) {
        short_factors[i] = random_number(random, &long_factor_range);
        long_factors[i] = random_number(random, &long_factor_range);
    }
}

static void order(double *less, double *more)
{
    double least = fmin(*less, *more), most = fmax(*less, *more);
    *less = least;
    *more = most;
}

static inlay_rotary_spec random_spec(struct random *random, inlay_rotary_scaling scaling)
{
    static const size_t dims[] = {2, 4, 6, 8, 10, 32, 64, 80, 96, 128, 128, 256, 26, 192, 512};
    inlay_rotary_spec spec = inlay_rotary_spec_default(dims[random_below(random, sizeof dims / sizeof *dims)]);
    spec.scaling = scaling;
    spec.base = random_number(random, &base_range);
    if (scaling == INLAY_ROTARY_YARN && spec.base == 1)
        spec.base = 1 + 0x1p-52;
    spec.factor = random_number(random, &factor_range);
    spec.original_length = random_number(random, &length_range);
    spec.length = random_below(random, 8) == 0 ? 1 : random_number(random, &length_range);
    spec.low_freq_factor = fmin(random_number(random, &rotations_range), 5e5);
    bool narrow = random_below(random, 16) == 0;
    spec.high_freq_factor = narrow ? nextafter(spec.low_freq_factor, 1e6) : random_number(random, &rotations_range);
    if (spec.high_freq_factor <= spec.low_freq_factor)
        spec.high_freq_factor = 2 * spec.low_freq_factor;
    spec.beta_slow = random_number(random, &rotations_range);
    spec.beta_fast = random_below(random, 8) == 0 ? spec.beta_slow : random_number(random, &rotations_range);
    if (random_below(random, 16) == 0)
        spec.beta_fast = fmin(nextafter(spec.beta_slow, 2e6), 1e6);
    order(&spec.beta_slow, &spec.beta_fast);
    spec.truncate = random_below(random, 2) != 0;
    spec.mscale = random_number(random, &mscale_range);
    spec.mscale_all_dim = random_number(random, &mscale_range);
    if (random_below(random, 4) == 0)
        spec.attention_factor = random_between(random, 0x1p-20, 0x1p10);
    spec.short_factors = short_factors;
    spec.long_factors = long_factors;
    return spec;
}

START_TEST(random_specs_are_correctly_rounded)
{
    enum { ROUNDS = 250 };
    struct random random = {41};
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 25 == 0)
            random_factors(&random);
        for (inlay_rotary_scaling scaling = INLAY_ROTARY_DEFAULT; scaling <= INLAY_ROTARY_LONGROPE; scaling++) {
            inlay_rotary_spec spec = random_spec(&random, scaling);
            check_spec(&spec);
        }
    }
}
END_TEST

/* Bases close to 1 scale the places of rotations by up to 2^52, giving ramps over any part of the pairs. */
START_TEST(yarn_is_correctly_rounded_with_bases_next_to_one)
{
    struct random random = {43};
    for (int round = 0; round < 300; round++) {
        inlay_rotary_spec spec = inlay_rotary_spec_default(64);
        spec.scaling = INLAY_ROTARY_YARN;
        spec.base = 1 + ldexp((double)(1 + random_below(&random, 1024)), -(int)random_below(&random, 43) - 10);
        spec.factor = random_number(&random, &factor_range);
        spec.original_length = random_number(&random, &length_range);
        spec.truncate = round % 2 != 0;
        /* original / (2 pi rotations) = base^x with x in (0, 1), if doubles were precise enough */
        double turn = spec.original_length / 6.283185307179586;
        spec.beta_slow = fmin(fmax(turn * pow(spec.base, -random_unit(&random)), 0x1p-20), 1e6);
        spec.beta_fast = fmin(fmax(turn * pow(spec.base, -random_unit(&random)), 0x1p-20), 1e6);
        order(&spec.beta_slow, &spec.beta_fast);
        check_spec(&spec);
    }
}
END_TEST

/* Both ends of YaRN's ramp in every place: below 0, in the same place, past the last pair and past dim - 1. */
START_TEST(yarn_clamps_as_its_formula)
{
    static const double lengths[] = {2, 3, 6, 7, 10, 50, 200, 201.5, 3000, 1e5, 1e9};
    static const double betas[] = {0x1p-20, 0.3, 1, 2, 32, 32.5, 1000, 1e6};
    static const double bases[] = {1.1, 2, 10, 10000, 1e30};
    enum { BETAS = sizeof betas / sizeof *betas };
    inlay_rotary_spec spec = inlay_rotary_spec_default(12);
    spec.scaling = INLAY_ROTARY_YARN;
    spec.factor = 3;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
            for (size_t slow = 0; slow < BETAS; slow++)
                for (size_t fast = slow; fast < BETAS; fast++)
                    for (uint32_t truncate = 0; truncate <= 1; truncate++) {
                        spec.original_length = lengths[l];
                        spec.base = bases[b];
                        spec.beta_slow = betas[slow];
                        spec.beta_fast = betas[fast];
                        spec.truncate = truncate;
                        check_spec(&spec);
                    }
}
END_TEST

/* Both ends of the ramp within a thousandth before pair 7, the only pair that is neither kept nor divided. */
START_TEST(yarn_widens_an_empty_ramp)
{
    static const double before[] = {0.0001, 0.0003, 0.0005, 0.0009};
    for (size_t k = 0; k < sizeof before / sizeof *before; k++) {
        inlay_rotary_spec spec = inlay_rotary_spec_default(64);
        spec.scaling = INLAY_ROTARY_YARN;
        spec.factor = 4;
        spec.original_length = 4096;
        spec.truncate = 0;
        spec.beta_slow = 4096 / 6.283185307179586 * pow(10000, -2 * (7 - before[k]) / 64);
        spec.beta_fast = spec.beta_slow;
        check_spec(&spec);
        double inv_freq[32], ignored;
        ck_assert_int_eq(inlay_rotary_frequencies(&spec, inv_freq, &ignored), INLAY_OK);
        double share = inv_freq[7] / pow(10000, -14.0 / 64);
        EXPECT(share > 0.3 && share < 0.95, "pair 7 keeps %g of its frequency", share);
    }
}
END_TEST

/* 1 + x within 2^-100 of the midpoint of two doubles, for factors close to 1. */
START_TEST(attention_factors_next_to_ties_are_correctly_rounded)
{
    inlay_rotary_spec spec = inlay_rotary_spec_default(2);
    spec.length = 1;
    spec.short_factors = short_factors;
    spec.long_factors = long_factors;
    for (size_t i = 0; i < MAX_DIM / 2; i++)
        short_factors[i] = long_factors[i] = 1;
    for (int k = 1; k < 22; k++)
        for (int near = -3; near <= 3; near++) {
            spec.factor = 1 + k * 0x1p-52;
            spec.original_length = exp(k);
            for (int step = 0; step < abs(near); step++)
                spec.original_length = nextafter(spec.original_length, near < 0 ? 2 : 0x1p31);
            if (spec.original_length >= 0x1p31)
                continue;
            spec.scaling = INLAY_ROTARY_LONGROPE;
            check_spec(&spec);
            spec.scaling = INLAY_ROTARY_YARN;
            check_spec(&spec);
        }
}
END_TEST

START_TEST(many_frequencies_are_correctly_rounded)
{
    struct random random = {47};
    random_factors(&random);
    for (inlay_rotary_scaling scaling = INLAY_ROTARY_DEFAULT; scaling <= INLAY_ROTARY_LONGROPE; scaling++) {
        inlay_rotary_spec spec = random_spec(&random, scaling);
        spec.dim = MAX_DIM;
        spec.base = 500000;
        check_spec(&spec);
    }
}
END_TEST

/* ---- Real models, by mpmath at 400 bits ------------------------------------------------------------------------- */

/* 0 means the default. Phi-3's factors are made up. */
static const struct model {
    const char *name;
    inlay_rotary_scaling scaling;
    size_t dim;
    double base, factor, original_length, length;
    double attention_factor;              /* expected */
    size_t at[12];                        /* pairs, */
    double frequency[13];                 /* their expected frequencies, and 0 */
    bool keep_ends;                       /* truncate is 0 */
    double mscale, mscale_all_dim, given; /* given: spec.attention_factor */
} models[] = {
#include "rotary_models.inc"
};

static void check_model(const struct model *model)
{
    static double inv_freq[MAX_DIM / 2];
    inlay_rotary_spec spec = inlay_rotary_spec_default(model->dim);
    spec.scaling = model->scaling;
    spec.base = model->base != 0 ? model->base : spec.base;
    spec.factor = model->factor;
    spec.original_length = model->original_length;
    spec.length = fmax(model->length, 1);
    spec.low_freq_factor = 1;
    spec.high_freq_factor = 4;
    spec.truncate = !model->keep_ends;
    spec.mscale = model->mscale;
    spec.mscale_all_dim = model->mscale_all_dim;
    spec.attention_factor = model->given;
    for (size_t i = 0; i < 48; i++) {
        short_factors[i] = 1;
        long_factors[i] = i == 0 ? 1.0800000429153442 : i == 1 ? 1.1100000143051147 : 64.4;
    }
    spec.short_factors = short_factors;
    spec.long_factors = long_factors;
    double found;
    ck_assert_int_eq(inlay_rotary_frequencies(&spec, inv_freq, &found), INLAY_OK);
    for (size_t i = 0; model->frequency[i] != 0; i++)
        EXPECT(inv_freq[model->at[i]] == model->frequency[i], "%s: frequency %zu is %a, not %a", model->name,
               model->at[i], inv_freq[model->at[i]], model->frequency[i]);
    EXPECT(found == model->attention_factor, "%s: attention factor %a, not %a", model->name, found,
           model->attention_factor);
}

START_TEST(frequencies_are_those_of_models)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_model(&models[i]);
}
END_TEST

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

enum { DIM = 8, PAIRS = DIM / 2 };

static const double untouched = -7;

/* Expects the status, an untouched output, and no errno or exception flag. */
static void expect_status(const inlay_rotary_spec *spec, inlay_status wanted, const char *what)
{
    double inv_freq[PAIRS] = {untouched, untouched, untouched, untouched};
    double attention_factor = untouched;
    errno = 0;
    feclearexcept(FE_ALL_EXCEPT);
    inlay_status got = inlay_rotary_frequencies(spec, inv_freq, &attention_factor);
    int raised = fetestexcept(FE_ALL_EXCEPT);
    EXPECT(got == wanted, "%s is \"%s\", not \"%s\"", what, inlay_status_string(got), inlay_status_string(wanted));
    EXPECT(errno == 0 && raised == 0, "%s touched errno or raised a floating-point exception", what);
    for (int i = 0; i < PAIRS; i++)
        EXPECT((inv_freq[i] == untouched) == (wanted != INLAY_OK), "%s: output %d is %a", what, i, inv_freq[i]);
    EXPECT((attention_factor == untouched) == (wanted != INLAY_OK), "%s: factor is %a", what, attention_factor);
}

static inlay_rotary_spec good_spec(inlay_rotary_scaling scaling)
{
    for (size_t i = 0; i < PAIRS; i++)
        short_factors[i] = long_factors[i] = 1;
    inlay_rotary_spec spec = inlay_rotary_spec_default(DIM);
    spec.scaling = scaling;
    spec.factor = 1;
    spec.original_length = spec.length = 2048;
    spec.low_freq_factor = 1;
    spec.high_freq_factor = 4;
    spec.short_factors = short_factors;
    spec.long_factors = long_factors;
    return spec;
}

/* The scalings that use a number: bit s for scaling s. */
enum {
    BUT_DEFAULT = 0xfc,
    OF_ORIGINAL =
        1 << INLAY_ROTARY_DYNAMIC_NTK | 1 << INLAY_ROTARY_LLAMA3 | 1 << INLAY_ROTARY_YARN | 1 << INLAY_ROTARY_LONGROPE,
    OF_LENGTH = 1 << INLAY_ROTARY_DYNAMIC_NTK | 1 << INLAY_ROTARY_LONGROPE,
    OF_LLAMA3 = 1 << INLAY_ROTARY_LLAMA3,
    OF_YARN = 1 << INLAY_ROTARY_YARN,
    OF_ATTENTION = 1 << INLAY_ROTARY_YARN | 1 << INLAY_ROTARY_LONGROPE,
};

static const struct {
    const char *name;
    size_t offset;
    double least, most;
    bool max_allowed;
    bool zero_allowed;
    int scalings;
} numbers[] = {
    {"factor", offsetof(inlay_rotary_spec, factor), 1, 1e6, true, false, BUT_DEFAULT},
    {"original_length", offsetof(inlay_rotary_spec, original_length), 2, 0x1p31, false, false, OF_ORIGINAL},
    {"length", offsetof(inlay_rotary_spec, length), 1, 0x1p31, false, false, OF_LENGTH},
    {"low_freq_factor", offsetof(inlay_rotary_spec, low_freq_factor), 0x1p-20, 4, false, false, OF_LLAMA3},
    {"high_freq_factor", offsetof(inlay_rotary_spec, high_freq_factor), 1 + 0x1p-52, 1e6, true, false, OF_LLAMA3},
    {"beta_fast", offsetof(inlay_rotary_spec, beta_fast), 1, 1e6, true, false, OF_YARN},
    {"beta_slow", offsetof(inlay_rotary_spec, beta_slow), 0x1p-20, 32, true, false, OF_YARN},
    {"mscale", offsetof(inlay_rotary_spec, mscale), 0x1p-1074, 100, true, true, OF_YARN},
    {"mscale_all_dim", offsetof(inlay_rotary_spec, mscale_all_dim), 0x1p-1074, 100, true, true, OF_YARN},
    {"attention_factor", offsetof(inlay_rotary_spec, attention_factor), 0x1p-20, 0x1p10, true, true, OF_ATTENTION},
};

static void try_number(size_t n, double value, bool allowed)
{
    for (inlay_rotary_scaling scaling = INLAY_ROTARY_DEFAULT; scaling <= INLAY_ROTARY_LONGROPE; scaling++) {
        inlay_rotary_spec spec = good_spec(scaling);
        memcpy((unsigned char *)&spec + numbers[n].offset, &value, sizeof value);
        bool looked_at = numbers[n].scalings >> scaling & 1;
        char what[128];
        snprintf(what, sizeof what, "%s %a of scaling %d", numbers[n].name, value, (int)scaling);
        expect_status(&spec, allowed || !looked_at ? INLAY_OK : INLAY_ERROR_OPTION, what);
    }
}

START_TEST(numbers_out_of_range_are_refused)
{
    static const double never[] = {-0x1p-1074, -1, INFINITY, -INFINITY, (double)NAN, -(double)NAN};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        try_number(n, numbers[n].least, true);
        try_number(n, nextafter(numbers[n].most, 0), true);
        try_number(n, numbers[n].most, numbers[n].max_allowed);
        try_number(n, nextafter(numbers[n].most, INFINITY), false);
        if (numbers[n].least > 0x1p-1074)
            try_number(n, nextafter(numbers[n].least, 0), false);
        try_number(n, 0.0, numbers[n].zero_allowed);
        try_number(n, -0.0, numbers[n].zero_allowed);
        for (size_t i = 0; i < sizeof never / sizeof *never; i++)
            try_number(n, never[i], false);
    }
}
END_TEST

/* Expects the status of a good spec with one changed field. */
#define EXPECT_FIELD(of_scaling, field, value, status)                                                                 \
    do {                                                                                                               \
        spec = good_spec(of_scaling);                                                                                  \
        spec.field = value;                                                                                            \
        expect_status(&spec, status, #field " = " #value);                                                             \
    } while (0)

START_TEST(bases_out_of_range_are_refused)
{
    static const double bad[] = {0.9999999999999999, 0, -0.0, -10000, 1.01e30, INFINITY, (double)NAN};
    for (inlay_rotary_scaling scaling = INLAY_ROTARY_DEFAULT; scaling <= INLAY_ROTARY_LONGROPE; scaling++) {
        inlay_rotary_spec spec = good_spec(scaling);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            spec.base = bad[i];
            expect_status(&spec, INLAY_ERROR_BASE, "a bad base");
        }
        EXPECT_FIELD(scaling, base, nextafter(1e30, INFINITY), INLAY_ERROR_BASE);
        EXPECT_FIELD(scaling, base, 1e30, INLAY_OK);
        EXPECT_FIELD(scaling, base, 1, scaling == INLAY_ROTARY_YARN ? INLAY_ERROR_BASE : INLAY_OK);
        EXPECT_FIELD(scaling, base, 1 + 0x1p-52, INLAY_OK);
    }
}
END_TEST

START_TEST(shapes_and_options_are_refused)
{
    inlay_rotary_spec spec = good_spec(INLAY_ROTARY_YARN);
    static const size_t bad_dims[] = {0, 1, 7, (size_t)INT32_MAX, (size_t)INT32_MAX + 1, SIZE_MAX, SIZE_MAX - 1};
    for (size_t i = 0; i < sizeof bad_dims / sizeof *bad_dims; i++) {
        spec.dim = bad_dims[i];
        expect_status(&spec, INLAY_ERROR_SHAPE, "a bad dim");
    }
    static const int bad_scalings[] = {0, 8, -1, 1000};
    for (size_t i = 0; i < sizeof bad_scalings / sizeof *bad_scalings; i++) {
        spec = good_spec((inlay_rotary_scaling)bad_scalings[i]);
        expect_status(&spec, INLAY_ERROR_OPTION, "an unknown scaling");
    }
    EXPECT_FIELD(INLAY_ROTARY_DEFAULT, size, sizeof spec - 1, INLAY_ERROR_OPTION);
    EXPECT_FIELD(INLAY_ROTARY_DEFAULT, reserved, 1, INLAY_ERROR_OPTION);
    EXPECT_FIELD(INLAY_ROTARY_DEFAULT, reserved2, 1, INLAY_ERROR_OPTION);
    EXPECT_FIELD(INLAY_ROTARY_YARN, truncate, 2, INLAY_ERROR_OPTION);
    EXPECT_FIELD(INLAY_ROTARY_LINEAR, truncate, 2, INLAY_OK); /* not read */
    EXPECT_FIELD(INLAY_ROTARY_LLAMA3, low_freq_factor, spec.high_freq_factor, INLAY_ERROR_OPTION);
    EXPECT_FIELD(INLAY_ROTARY_YARN, beta_slow, spec.beta_fast, INLAY_OK);

    struct {
        inlay_rotary_spec spec;
        uint64_t appended;
    } later = {good_spec(INLAY_ROTARY_DEFAULT), 0};
    later.spec.size = sizeof later;
    expect_status(&later.spec, INLAY_OK, "a later version's struct of zeros");
    later.appended = 1;
    expect_status(&later.spec, INLAY_ERROR_OPTION, "a later version's field");
}
END_TEST

/* A default spec has none of the numbers in which models differ. Each scaling needs all of those that its formula
 * reads. */
START_TEST(missing_numbers_are_refused)
{
    for (inlay_rotary_scaling scaling = INLAY_ROTARY_DEFAULT; scaling <= INLAY_ROTARY_LONGROPE; scaling++) {
        inlay_rotary_spec spec = inlay_rotary_spec_default(DIM), good = good_spec(scaling);
        spec.scaling = scaling;
        spec.short_factors = good.short_factors;
        spec.long_factors = good.long_factors;
        inlay_status bare = scaling == INLAY_ROTARY_DEFAULT ? INLAY_OK : INLAY_ERROR_OPTION;
        expect_status(&spec, bare, "a scaling without its numbers");
        static const size_t of_models[] = {
            offsetof(inlay_rotary_spec, factor), offsetof(inlay_rotary_spec, original_length),
            offsetof(inlay_rotary_spec, length), offsetof(inlay_rotary_spec, low_freq_factor),
            offsetof(inlay_rotary_spec, high_freq_factor)};
        for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++) {
            spec = good;
            memset((unsigned char *)&spec + of_models[i], 0, sizeof(double));
            bool needed = false;
            for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
                needed |= numbers[n].offset == of_models[i] && numbers[n].scalings >> scaling & 1;
            expect_status(&spec, needed ? INLAY_ERROR_OPTION : INLAY_OK, "one number is missing");
        }
    }
    inlay_rotary_spec spec = good_spec(INLAY_ROTARY_LONGROPE);
    spec.factor = 0;
    spec.attention_factor = 1.25; /* which factor would compute */
    expect_status(&spec, INLAY_OK, "longrope with an attention factor and no factor");
}
END_TEST

START_TEST(factors_out_of_range_are_refused)
{
    static const double bad[] = {0, -1, 0x1p-21, 0x1.0000000000001p20, INFINITY, (double)NAN};
    double *arrays[] = {short_factors, long_factors};
    for (size_t a = 0; a < 2; a++)
        for (size_t place = 0; place < PAIRS; place++)
            for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                inlay_rotary_spec spec = good_spec(INLAY_ROTARY_LONGROPE);
                arrays[a][place] = bad[i];
                expect_status(&spec, INLAY_ERROR_OPTION, "a bad factor");
                spec.scaling = INLAY_ROTARY_YARN;
                expect_status(&spec, INLAY_OK, "a bad factor where nobody looks");
            }
}
END_TEST

START_TEST(null_pointers_are_refused)
{
    double inv_freq[PAIRS] = {untouched}, attention_factor = untouched;
    inlay_rotary_spec spec = good_spec(INLAY_ROTARY_DEFAULT);
    expect_status(NULL, INLAY_ERROR_NULL, "no spec");
    EXPECT(inlay_rotary_frequencies(&spec, NULL, &attention_factor) == INLAY_ERROR_NULL &&
               attention_factor == untouched,
           "no inv_freq");
    EXPECT(inlay_rotary_frequencies(&spec, inv_freq, NULL) == INLAY_ERROR_NULL && inv_freq[0] == untouched,
           "no attention_factor");
    spec.short_factors = spec.long_factors = NULL;
    expect_status(&spec, INLAY_OK, "no factors, which nobody needs");
    EXPECT_FIELD(INLAY_ROTARY_LONGROPE, short_factors, NULL, INLAY_ERROR_NULL);
    EXPECT_FIELD(INLAY_ROTARY_LONGROPE, long_factors, NULL, INLAY_ERROR_NULL);
}
END_TEST

START_TEST(overlaps_are_refused)
{
    double inv_freq[PAIRS], attention_factor;
    inlay_rotary_spec spec = good_spec(INLAY_ROTARY_LONGROPE);
    EXPECT(inlay_rotary_frequencies(&spec, inv_freq, inv_freq + PAIRS - 1) == INLAY_ERROR_OVERLAP, "two outputs");
    EXPECT(inlay_rotary_frequencies(&spec, short_factors + 1, &attention_factor) == INLAY_ERROR_OVERLAP,
           "short factors");
    EXPECT(inlay_rotary_frequencies(&spec, long_factors, &attention_factor) == INLAY_ERROR_OVERLAP, "long factors");
    EXPECT(inlay_rotary_frequencies(&spec, inv_freq, short_factors) == INLAY_ERROR_OVERLAP, "factor in short factors");
    EXPECT(inlay_rotary_frequencies(&spec, inv_freq, long_factors + PAIRS - 1) == INLAY_ERROR_OVERLAP,
           "factor in long factors");
    EXPECT(inlay_rotary_frequencies(&spec, inv_freq, &spec.factor) == INLAY_ERROR_OVERLAP, "factor in the spec");
    EXPECT(inlay_rotary_frequencies(&spec, inv_freq, long_factors + PAIRS) == INLAY_OK, "factor after long factors");
    for (size_t i = 0; i < PAIRS; i++)
        EXPECT(short_factors[i] == 1 && long_factors[i] == 1, "an input was written");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "rotary", NULL, NULL, random_specs_are_correctly_rounded,
                     yarn_is_correctly_rounded_with_bases_next_to_one, yarn_clamps_as_its_formula,
                     yarn_widens_an_empty_ramp, attention_factors_next_to_ties_are_correctly_rounded,
                     many_frequencies_are_correctly_rounded, frequencies_are_those_of_models,
                     numbers_out_of_range_are_refused, bases_out_of_range_are_refused, shapes_and_options_are_refused,
                     missing_numbers_are_refused, factors_out_of_range_are_refused, null_pointers_are_refused,
                     overlaps_are_refused);
}
