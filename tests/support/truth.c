/* SPDX-License-Identifier: MIT */
/*
 * An entry by MPFR: the angle in quarter turns, its fraction, its sine and cosine with an error bound, and both ends of
 * that interval rounded to the type. If these differ, the same with more digits.
 */
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Digits of a phase, and of the frequency that it comes from: twice as many, for those lost in whole quarter turns and
 * near their multiples.
 */
enum { NEAR_BITS = 128, FAR_BITS = 512, NEAR_FREQUENCY_BITS = 256, FAR_FREQUENCY_BITS = 768 };

/* ---- Rounding ---------------------------------------------------------------------------------------------------- */

/* A format in MPFR's terms: digits, and the exponents of the smallest subnormal and of the largest number, each a
   fraction in [1/2, 1) times 2^exponent. */
struct format {
    mpfr_prec_t digits;
    mpfr_exp_t emin, emax;
};

static const struct format binary64 = {53, -1073, 1024};

static struct format format_of(inlay_element_type type)
{
    switch (type) {
    case INLAY_F16:
        return (struct format){11, -23, 16};
    case INLAY_BF16:
        return (struct format){8, -132, 128};
    default:
        return (struct format){24, -148, 128};
    }
}

/* Returns a number rounded to the digits of a format, with MPFR's ternary value, as a number of that format. */
static double finish(mpfr_t x, int ternary, struct format format)
{
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_set_emin(format.emin);
    mpfr_set_emax(format.emax);
    ternary = mpfr_check_range(x, ternary, MPFR_RNDN);
    mpfr_subnormalize(x, ternary, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    return mpfr_get_d(x, MPFR_RNDN);
}

static double rounded(mpfr_t x, struct format format)
{
    mpfr_t y;
    mpfr_init2(y, format.digits);
    double value = finish(y, mpfr_set(y, x, MPFR_RNDN), format);
    mpfr_clear(y);
    return value;
}

/* The bits of a number of the type. */
static uint32_t bits_of(double value, inlay_element_type type)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (type == INLAY_F32)
        return bits;
    if (type == INLAY_BF16)
        return bits >> 16;
    uint32_t sign = bits >> 31 << 15;
    if (isinf(value))
        return sign | 0x7c00;
    int exponent;
    double fraction = frexp(fabs(value), &exponent); /* in [1/2, 1) */
    if (value == 0 || exponent < -13)
        return sign | (uint32_t)ldexp(fabs(value), 24);
    return sign + ((uint32_t)(exponent + 13) << 10) + (uint32_t)ldexp(fraction, 11);
}

uint32_t truth_rounded(double x, inlay_element_type type)
{
    mpfr_t exact;
    mpfr_init2(exact, 53);
    mpfr_set_d(exact, x, MPFR_RNDN);
    uint32_t bits = bits_of(rounded(exact, format_of(type)), type);
    mpfr_clear(exact);
    return bits;
}

/* ---- Frequencies ------------------------------------------------------------------------------------------------- */

void truth_power(mpfr_t power, mpfr_t base, size_t numerator, size_t denominator)
{
    mpfr_log(power, base, MPFR_RNDN);
    mpfr_mul_ui(power, power, numerator, MPFR_RNDN);
    mpfr_div_ui(power, power, denominator, MPFR_RNDN);
    mpfr_neg(power, power, MPFR_RNDN);
    mpfr_exp(power, power, MPFR_RNDN);
}

/* base^-e(i), or the caller's. */
static void frequency_of(mpfr_t frequency, const inlay_sinusoid_spec *spec, size_t i)
{
    size_t half = spec->dim / 2, intervals = half > spec->shift ? half - spec->shift : 1;
    bool by_dim = spec->spacing == INLAY_SINUSOID_SPACING_DIM;
    mpfr_set_d(frequency, spec->inv_freq != NULL ? spec->inv_freq[i] : spec->base, MPFR_RNDN);
    if (spec->inv_freq == NULL)
        truth_power(frequency, frequency, by_dim ? 2 * i : i, by_dim ? spec->dim : intervals);
}

/* ---- Recipes: the table of docs/recipes.md once more ------------------------------------------------------------- */

typedef int function(mpfr_t, mpfr_srcptr, mpfr_rnd_t);

static double applied(function *f, double x, struct format format)
{
    mpfr_t argument, value;
    mpfr_init2(argument, 53);
    mpfr_init2(value, format.digits);
    mpfr_set_d(argument, x, MPFR_RNDN);
    double result = finish(value, f(value, argument, MPFR_RNDN), format);
    mpfr_clears(argument, value, (mpfr_ptr)0);
    return result;
}

static double power(double x, double y, struct format format)
{
    mpfr_t base, exponent, value;
    mpfr_inits2(53, base, exponent, (mpfr_ptr)0);
    mpfr_init2(value, format.digits);
    mpfr_set_d(base, x, MPFR_RNDN);
    mpfr_set_d(exponent, y, MPFR_RNDN);
    double result = finish(value, mpfr_pow(value, base, exponent, MPFR_RNDN), format);
    mpfr_clears(base, exponent, value, (mpfr_ptr)0);
    return result;
}

static double ln(double x)
{
    return applied(mpfr_log, x, binary64);
}

static float lnf(float x)
{
    return (float)applied(mpfr_log, x, format_of(INLAY_F32));
}

static float expf_(float x)
{
    return (float)applied(mpfr_exp, x, format_of(INLAY_F32));
}

static float powf_(float x, float y)
{
    return (float)power(x, y, format_of(INLAY_F32));
}

/* Returns the frequency of pair i, or the divisor of positions. Float recipes round each operation. */
static double factor_of(const inlay_sinusoid_spec *spec, size_t pair)
{
    const double base = spec->base, d = (double)spec->dim, i = (double)pair;
    const float base32 = (float)base, d32 = (float)d, i32 = (float)i, ln32 = (float)ln(base);
    const double h = floor(d / 2), between = h - 1 > 1 ? h - 1 : 1;
    switch (spec->recipe) {
    case INLAY_RECIPE_EXACT: /* with angles in floats */
        return (float)spec->inv_freq[pair];
    case INLAY_RECIPE_TORCH_EXP:
        return expf_((2 * i32) * (float)(-ln(base) / d));
    case INLAY_RECIPE_JAX_EXP:
        return expf_((2 * i32) * (-lnf(base32) / d32));
    case INLAY_RECIPE_TORCH_DIV:
        return expf_(((2 * i32) / d32) * ln32);
    case INLAY_RECIPE_NUMPY_FP64:
    case INLAY_RECIPE_HF_MARIAN:
        return power(base, 2 * i / d, binary64);
    case INLAY_RECIPE_KERAS_HUB:
        return powf_((float)(1 / base), (2 * i32) / d32);
    case INLAY_RECIPE_INV_POW:
        return 1 / powf_(base32, (2 * i32) / (float)((spec->dim + 1) / 2 * 2));
    case INLAY_RECIPE_TENSOR2TENSOR:
        return expf_(i32 * -(ln32 / (float)between));
    case INLAY_RECIPE_FAIRSEQ:
    case INLAY_RECIPE_OPENNMT_TF:
        return expf_(i32 * -(float)(ln(base) / between));
    case INLAY_RECIPE_MARIAN:
        return expf_(i32 * -(lnf(base32) / (d32 / 2 - 1 > 0 ? d32 / 2 - 1 : 1)));
    case INLAY_RECIPE_DIFFUSERS:
        return expf_((-ln32 * i32) / (float)(h - spec->shift > 1 ? h - spec->shift : 1));
    case INLAY_RECIPE_GGML:
        return expf_((-lnf(base32) * i32) / (float)(h > 1 ? h : 1));
    case INLAY_RECIPE_MLX: {
        double low = ln(1 / base), high = 0; /* ln 1 */
        return expf_((1 - i32 / (float)between) * (float)(high - low) + (float)low);
    }
    case INLAY_RECIPE_FLAX:
        return applied(mpfr_exp, i * (-ln(base) / between), binary64);
    case INLAY_RECIPE_MAE:
        return 1 / power(base, i / (d / 2), binary64);
    }
    abort();
}

static double float_angle(const struct truth *truth, double position)
{
    float position32 = (float)position, factor32 = (float)truth->factor;
    switch (truth->spec->recipe) {
    case INLAY_RECIPE_NUMPY_FP64:
    case INLAY_RECIPE_HF_MARIAN:
        return position / truth->factor;
    case INLAY_RECIPE_FLAX:
    case INLAY_RECIPE_MAE:
        return position * truth->factor;
    case INLAY_RECIPE_TORCH_DIV:
        return position32 / factor32;
    default:
        return position32 * factor32;
    }
}

double truth_amplitude(inlay_recipe recipe, size_t dim)
{
    if (recipe != INLAY_RECIPE_MLX)
        return 1;
    mpfr_t root;
    mpfr_init2(root, FAR_BITS);
    mpfr_set_ui(root, 2, MPFR_RNDN);
    mpfr_div_ui(root, root, dim, MPFR_RNDN);
    mpfr_sqrt(root, root, MPFR_RNDN);
    double value = mpfr_get_d(root, MPFR_RNDN);
    mpfr_clear(root);
    return value;
}

/* ---- Sine and cosine --------------------------------------------------------------------------------------------- */

void truth_init(struct truth *truth, const inlay_sinusoid_spec *spec, size_t pair)
{
    truth->spec = spec;
    truth->pair = pair;
    truth->floats = spec->recipe != INLAY_RECIPE_EXACT || spec->float_angles;
    truth->factor = truth->floats ? factor_of(spec, pair) : 0;
    mpfr_init2(truth->near, NEAR_FREQUENCY_BITS);
    mpfr_init2(truth->far, FAR_FREQUENCY_BITS);
    mpfr_t pi;
    mpfr_init2(pi, FAR_FREQUENCY_BITS);
    mpfr_const_pi(pi, MPFR_RNDN);
    if (truth->floats)
        mpfr_set_ui(truth->far, 1, MPFR_RNDN);
    else
        frequency_of(truth->far, spec, pair);
    truth->still = mpfr_zero_p(truth->far);
    mpfr_mul_2ui(truth->far, truth->far, 1, MPFR_RNDN);
    mpfr_div(truth->far, truth->far, pi, MPFR_RNDN);
    mpfr_set(truth->near, truth->far, MPFR_RNDN);
    mpfr_clear(pi);
}

void truth_clear(struct truth *truth)
{
    mpfr_clears(truth->near, truth->far, (mpfr_ptr)0);
}

/*
 * A number is between value * (1 - 2^-below) and value * (1 + 2^-above), or, if `above` is negative, value * (1 -
 * 2^above). Returns true if both round to the same number of the type, and writes its bits.
 */
static bool decide(mpfr_t value, long below, long above, inlay_element_type type, uint32_t *bits)
{
    mpfr_t end;
    mpfr_init2(end, mpfr_get_prec(value));
    mpfr_div_2si(end, value, below, MPFR_RNDN);
    mpfr_sub(end, value, end, MPFR_RNDN);
    double low = rounded(end, format_of(type));
    mpfr_div_2si(end, value, labs(above), MPFR_RNDN);
    (above < 0 ? mpfr_sub : mpfr_add)(end, value, end, MPFR_RNDN);
    double high = rounded(end, format_of(type));
    mpfr_clear(end);
    *bits = bits_of(low, type);
    return low == high;
}

/*
 * Computes sine and cosine of a phase within an eighth of a turn, times the amplitude, and their error bounds. Below
 * 2^-100 they are the phase and 1, each less at most 2^-200. It only matters that this is not zero, since the product
 * of a double's phase with the amplitude may be exactly the midpoint of two floats. No other midpoint is that close.
 */
static void small_phase(mpfr_t sin, mpfr_t cos, mpfr_t phase, long *below, long *above)
{
    mpfr_set(sin, phase, MPFR_RNDN);
    mpfr_set_ui(cos, 1, MPFR_RNDN);
    *below = 199;
    *above = -(FAR_BITS - 62);
}

enum { SMALL = -100 };

/* Tries a number of digits; returns false if they are not enough. */
static bool attempt(mpfr_srcptr frequency, double position, mpfr_prec_t digits, double amplitude,
                    inlay_element_type type, struct truth_entries *entries)
{
    /* A frequency and its product have an error of 2^-lost of the whole angle, more relative to the rest without
       quarter turns. */
    const long lost = (long)mpfr_get_prec(frequency) - digits - 8;
    mpfr_t turns, quarters, phase, sin, cos;
    mpfr_inits2(mpfr_get_prec(frequency), turns, quarters, (mpfr_ptr)0);
    mpfr_inits2(digits, phase, sin, cos, (mpfr_ptr)0);
    mpfr_set_d(phase, position, MPFR_RNDN);
    mpfr_mul(turns, frequency, phase, MPFR_RNDN);
    mpfr_rint(quarters, turns, MPFR_RNDN);
    mpfr_sub(phase, turns, quarters, MPFR_RNDN);
    bool decided = !mpfr_zero_p(phase) && mpfr_get_exp(turns) - mpfr_get_exp(phase) < lost;
    if (decided && mpfr_get_exp(phase) <= SMALL)
        decided = digits == FAR_BITS;
    if (decided) {
        unsigned quadrant = (unsigned)(mpfr_get_sj(quarters, MPFR_RNDN) & 3);
        long below = digits - 10, above = digits - 10;
        mpfr_const_pi(sin, MPFR_RNDN);
        mpfr_div_2ui(sin, sin, 1, MPFR_RNDN);
        mpfr_mul(phase, phase, sin, MPFR_RNDN);
        if (mpfr_get_exp(phase) <= SMALL)
            small_phase(sin, cos, phase, &below, &above);
        else
            mpfr_sin_cos(sin, cos, phase, MPFR_RNDN);
        if (quadrant & 1) { /* sin(x + pi/2) = cos x, cos(x + pi/2) = -sin x */
            mpfr_swap(sin, cos);
            mpfr_neg(cos, cos, MPFR_RNDN);
        }
        if (quadrant & 2) {
            mpfr_neg(sin, sin, MPFR_RNDN);
            mpfr_neg(cos, cos, MPFR_RNDN);
        }
        if (amplitude != 1) {
            mpfr_set_d(phase, amplitude, MPFR_RNDN);
            mpfr_mul(sin, sin, phase, MPFR_RNDN);
            mpfr_mul(cos, cos, phase, MPFR_RNDN);
        }
        decided = decide(sin, below, above, type, &entries->sin) && decide(cos, below, above, type, &entries->cos);
    }
    mpfr_clears(turns, quarters, phase, sin, cos, (mpfr_ptr)0);
    return decided;
}

/* The sine and cosine of an angle: amplitude * sin(frequency * position), rounded once. */
static struct truth_entries real_entries(const struct truth *truth, double position, double amplitude,
                                         inlay_element_type type)
{
    if (position == 0 || truth->still)
        return (struct truth_entries){0, truth_rounded(amplitude, type)};
    struct truth_entries entries;
    if (!attempt(truth->near, position, NEAR_BITS, amplitude, type, &entries) &&
        !attempt(truth->far, position, FAR_BITS, amplitude, type, &entries)) {
        printf("not decided: position %a, dim %zu, base %a, pair %zu\n", position, truth->spec->dim, truth->spec->base,
               truth->pair);
        exit(EXIT_FAILURE);
    }
    return entries;
}

static uint32_t times_amplitude(uint32_t bits, float amplitude, inlay_element_type type)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= amplitude;
    return truth_rounded(value, type);
}

struct truth_entries truth_at(const struct truth *truth, double position, inlay_element_type type)
{
    double amplitude = truth->spec->amplitude;
    if (!truth->floats)
        return real_entries(truth, position, amplitude, type);
    struct truth_entries floats = real_entries(truth, float_angle(truth, position), 1, INLAY_F32);
    return (struct truth_entries){times_amplitude(floats.sin, (float)amplitude, type),
                                  times_amplitude(floats.cos, (float)amplitude, type)};
}

/* ---- Positions where it is hard ---------------------------------------------------------------------------------- */

size_t truth_nearest(const struct truth *truth, uint32_t *positions, size_t n)
{
    if (truth->floats || truth->still || mpfr_get_exp(truth->near) > 0)
        return 0;
    mpfr_t rest, whole;
    mpfr_inits2(NEAR_FREQUENCY_BITS, rest, whole, (mpfr_ptr)0);
    mpfr_set(rest, truth->near, MPFR_RNDN);
    uint64_t before = 0, current = 1;
    size_t found = 0;
    /* The denominators of the convergents: current' = term * current + before. */
    while (current < INLAY_POSITION_LIMIT) {
        if (found == n)
            memmove(positions, positions + 1, --found * sizeof *positions);
        positions[found++] = (uint32_t)current;
        mpfr_ui_div(rest, 1, rest, MPFR_RNDN);
        mpfr_floor(whole, rest);
        mpfr_sub(rest, rest, whole, MPFR_RNDN);
        if (mpfr_cmp_ui(whole, UINT32_MAX) > 0 || mpfr_zero_p(rest))
            break;
        uint64_t next = mpfr_get_ui(whole, MPFR_RNDN) * current + before;
        before = current;
        current = next;
    }
    mpfr_clears(rest, whole, (mpfr_ptr)0);
    return found;
}

double truth_position_of(const struct truth *truth, double quarters)
{
    if (truth->still)
        return 1;
    mpfr_t position;
    mpfr_init2(position, NEAR_FREQUENCY_BITS);
    mpfr_set_d(position, quarters, MPFR_RNDN);
    mpfr_div(position, position, truth->near, MPFR_RNDN);
    double value = mpfr_get_d(position, MPFR_RNDN);
    mpfr_clear(position);
    return fabs(value) < 0x1p31 ? value : 1;
}
