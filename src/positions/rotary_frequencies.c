/* SPDX-License-Identifier: MIT */
/*
 * The frequencies of rotary embeddings (Su et al. 2021) and of their scalings, by the formulas of the papers and of
 * Hugging Face (transformers, modeling_rope_utils.py, ROPE_INIT_FUNCTIONS), but in fixed point and rounded once. All
 * operations are integer operations. docs/rotary.md has each formula.
 *
 * Frequency i is (base * stretch^(dim / (dim - 2)))^(-2i/dim) times a share in [2^-20, 2^20]. The relative error of the
 * power is at most 2^-235, that of the share 2^-230, or 2^-140 on a ramp whose ends are close together or for a base
 * close to 1. A double keeps 53 bits. No result is a tie between two doubles: powers are irrational except for powers
 * of two, ramps contain pi or are fractions of few bits, and logarithms are transcendental.
 */
#include "base/arguments.h"
#include "base/compare.h"
#include "base/rounding.h"

#include <stddef.h>
#include <string.h>

/* ---- Validation ------------------------------------------------------------------------------------------------- */

/* Sets of scalings: bit s is scaling s. */
enum {
    LLAMA3 = 1 << INLAY_ROTARY_LLAMA3,
    YARN = 1 << INLAY_ROTARY_YARN,
    LONGROPE = 1 << INLAY_ROTARY_LONGROPE,
    DYNAMIC_NTK = 1 << INLAY_ROTARY_DYNAMIC_NTK,
    WITH_ORIGINAL = DYNAMIC_NTK | LLAMA3 | YARN | LONGROPE,
    WITH_FACTOR = WITH_ORIGINAL | 1 << INLAY_ROTARY_LINEAR | 1 << INLAY_ROTARY_NTK,
};

/* The range of each number of a spec, and the scalings that read it. */
static const struct number {
    size_t offset;
    unsigned scalings;
    double least, most;
    bool or_zero;
} numbers[] = {
    {offsetof(inlay_rotary_spec, factor), WITH_FACTOR, 1, 1e6, false},
    {offsetof(inlay_rotary_spec, original_length), WITH_ORIGINAL, 2, 0x1.fffffffffffffp30, false},
    {offsetof(inlay_rotary_spec, length), DYNAMIC_NTK | LONGROPE, 1, 0x1.fffffffffffffp30, false},
    {offsetof(inlay_rotary_spec, low_freq_factor), LLAMA3, 0x1p-20, 1e6, false},
    {offsetof(inlay_rotary_spec, high_freq_factor), LLAMA3, 0x1p-20, 1e6, false},
    {offsetof(inlay_rotary_spec, beta_fast), YARN, 0x1p-20, 1e6, false},
    {offsetof(inlay_rotary_spec, beta_slow), YARN, 0x1p-20, 1e6, false},
    {offsetof(inlay_rotary_spec, mscale), YARN, 0, 100, false},
    {offsetof(inlay_rotary_spec, mscale_all_dim), YARN, 0, 100, false},
    {offsetof(inlay_rotary_spec, attention_factor), YARN | LONGROPE, 0x1p-20, 0x1p10, true},
};

/* LongRoPE has its own factors, and needs `factor` only for the formula of the attention factor. */
static bool reads(const inlay_rotary_spec *spec, const struct number *number)
{
    const bool replaced = spec->scaling == INLAY_ROTARY_LONGROPE && !inlay_double_is_zero(spec->attention_factor);
    return (number->scalings >> spec->scaling & 1) &&
           !(replaced && number->offset == offsetof(inlay_rotary_spec, factor));
}

static bool number_valid(const inlay_rotary_spec *spec, const struct number *number)
{
    double x;
    memcpy(&x, (const unsigned char *)spec + number->offset, sizeof x);
    return !reads(spec, number) || inlay_double_in(x, number->least, number->most) ||
           (number->or_zero && inlay_double_is_zero(x));
}

/* Returns true if everything that the scaling reads is in range; the arrays were checked to exist. */
static bool values_valid(const inlay_rotary_spec *spec)
{
    if (spec->scaling < INLAY_ROTARY_DEFAULT || spec->scaling > INLAY_ROTARY_LONGROPE)
        return false;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!number_valid(spec, &numbers[i]))
            return false;
    bool llama3 = spec->scaling == INLAY_ROTARY_LLAMA3, yarn = spec->scaling == INLAY_ROTARY_YARN;
    bool longrope = spec->scaling == INLAY_ROTARY_LONGROPE;
    return (!llama3 || inlay_double_less(spec->low_freq_factor, spec->high_freq_factor)) &&
           (!yarn || (!inlay_double_less(spec->beta_fast, spec->beta_slow) && spec->truncate <= 1)) &&
           (!longrope || (inlay_doubles_in(spec->short_factors, spec->dim / 2, 0x1p-20, 0x1p20) &&
                          inlay_doubles_in(spec->long_factors, spec->dim / 2, 0x1p-20, 0x1p20)));
}

/* Validates the arrays before anything is read from them. */
static inlay_status check_arrays(const inlay_rotary_spec *spec, const double *inv_freq, const double *attention_factor)
{
    size_t pairs = spec->dim / 2;
    const struct {
        const void *data;
        size_t n, element_bytes;
    } arrays[] = {
        {inv_freq, pairs, sizeof *inv_freq},
        {attention_factor, 1, sizeof *attention_factor},
        {spec, 1, spec->size},
        {spec->short_factors, pairs, sizeof *spec->short_factors},
        {spec->long_factors, pairs, sizeof *spec->long_factors},
    };
    enum { WRITTEN = 2, ALWAYS = 3, ARRAYS = 5 };
    struct inlay_extent extent[ARRAYS];
    int n = spec->scaling == INLAY_ROTARY_LONGROPE ? ARRAYS : ALWAYS;
    for (int i = 0; i < n; i++) {
        inlay_status status = inlay_check_array(arrays[i].data, arrays[i].n, arrays[i].element_bytes, &extent[i]);
        if (status != INLAY_OK)
            return status;
    }
    for (int i = 0; i < WRITTEN; i++)
        for (int k = i + 1; k < n; k++)
            if (inlay_extents_overlap(extent[i], extent[k]))
                return INLAY_ERROR_OVERLAP;
    return INLAY_OK;
}

static inlay_status check_rotary(const inlay_rotary_spec *spec, const double *inv_freq, const double *attention_factor)
{
    if (spec == NULL || inv_freq == NULL || attention_factor == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec) || spec->reserved != 0 || spec->reserved2 != 0)
        return INLAY_ERROR_OPTION;
    if (spec->dim == 0 || spec->dim % 2 != 0 || spec->dim > INT32_MAX)
        return INLAY_ERROR_SHAPE;
    /* YaRN needs the frequency that makes a number of rotations: with base 1 all frequencies are equal. */
    bool equal = spec->scaling == INLAY_ROTARY_YARN && !inlay_double_less(1, spec->base);
    if (!inlay_double_in(spec->base, 1, 1e30) || equal)
        return INLAY_ERROR_BASE;
    inlay_status status = check_arrays(spec, inv_freq, attention_factor);
    return status == INLAY_OK && !values_valid(spec) ? INLAY_ERROR_OPTION : status;
}

/* ---- Arithmetic ------------------------------------------------------------------------------------------------- */

/* Returns ln x for 1 <= x < 2^63, within 2^-239: the logarithm of the nearest double, plus 2 atanh z with z = (x -
   near) / (x + near). Truncating atanh's series to z + z^3 / 3 leaves less than 2^-270, since |z| <= 2^-54. */
static struct inlay_fixed ln_of(struct inlay_fixed x)
{
    double nearest = inlay_round_f64(x, 0, false);
    struct inlay_fixed near = inlay_fixed_of(nearest), ln_near = inlay_fixed_ln(nearest);
    bool below = inlay_fixed_less(x, near);
    struct inlay_fixed gap = below ? inlay_fixed_sub(near, x) : inlay_fixed_sub(x, near);
    struct inlay_fixed z = inlay_fixed_quotient(gap, inlay_fixed_add(x, near));
    struct inlay_fixed cube = inlay_fixed_mul(inlay_fixed_mul(z, z), z);
    struct inlay_fixed atanh_z = inlay_fixed_add(z, inlay_fixed_div(cube, 3));
    struct inlay_fixed twice = inlay_fixed_add(atanh_z, atanh_z);
    return below ? inlay_fixed_sub(ln_near, twice) : inlay_fixed_add(ln_near, twice);
}

static struct inlay_fixed inverse_of(double x)
{
    return inlay_fixed_quotient(inlay_fixed_one, inlay_fixed_of(x));
}

static struct inlay_fixed multiple(struct inlay_fixed a, uint64_t n)
{
    return inlay_fixed_mul(a, inlay_fixed_integer(n));
}

/* ---- NTK -------------------------------------------------------------------------------------------------------- */

/* Returns the s of base * s^(dim / (dim - 2)), which is 1 without NTK. Dynamic NTK has factor * length / original -
   (factor - 1) for a length beyond the original one, computed as 1 + factor * (length - original) / original. */
static struct inlay_fixed stretch_of(const inlay_rotary_spec *spec)
{
    if (spec->scaling == INLAY_ROTARY_NTK)
        return inlay_fixed_of(spec->factor);
    if (spec->scaling != INLAY_ROTARY_DYNAMIC_NTK || !inlay_double_less(spec->original_length, spec->length))
        return inlay_fixed_one;
    struct inlay_fixed original = inlay_fixed_of(spec->original_length);
    struct inlay_fixed beyond = inlay_fixed_sub(inlay_fixed_of(spec->length), original);
    beyond = inlay_fixed_mul(beyond, inlay_fixed_of(spec->factor));
    return inlay_fixed_add(inlay_fixed_one, inlay_fixed_quotient(beyond, original));
}

/* ---- Ramps: which frequencies are kept, and which are divided by the factor ------------------------------------- */

/* A ramp from 0 at `from` to 1 at `to`; if both are equal, a step that is 1 there. Llama 3 has one over rotations, of
   the share that is kept; the others over i, of the share that is divided. */
struct ramp {
    struct inlay_fixed from, to;
};

/* The first is never reached by any i; the second is reached by every i. */
static const struct ramp divide_none = {{{INT32_MAX}}, {{UINT32_MAX}}}, divide_all = {{{0}}, {{0}}};

static struct inlay_fixed ramp_at(const struct ramp *ramp, struct inlay_fixed x)
{
    if (!inlay_fixed_less(x, ramp->to))
        return inlay_fixed_one;
    if (!inlay_fixed_less(ramp->from, x))
        return inlay_fixed_zero;
    return inlay_fixed_quotient(inlay_fixed_sub(x, ramp->from), inlay_fixed_sub(ramp->to, ramp->from));
}

/* A position on the line of pair indices. If it is before the first one, `at` is the distance. */
struct place {
    struct inlay_fixed at;
    bool negative;
};

/* Returns where a frequency makes a number of rotations over the original length: dim ln(original / (2 pi rotations)) /
   (2 ln base), find_correction_dim in the authors' code. Places past dim are clamped to dim. */
static struct place place_of_rotations(const inlay_rotary_spec *spec, double rotations, struct inlay_fixed ln_base)
{
    struct inlay_fixed original = inlay_fixed_of(spec->original_length);
    struct inlay_fixed radians = inlay_fixed_mul(inlay_fixed_of(rotations), inlay_fixed_two_pi);
    bool negative = inlay_fixed_less(original, radians);
    struct inlay_fixed ratio =
        negative ? inlay_fixed_quotient(radians, original) : inlay_fixed_quotient(original, radians);
    struct inlay_fixed numerator = multiple(ln_of(ratio), spec->dim / 2);
    if (!inlay_fixed_less(numerator, multiple(ln_base, spec->dim)))
        return (struct place){inlay_fixed_integer(spec->dim), negative};
    return (struct place){inlay_fixed_quotient(numerator, ln_base), negative};
}

/* Returns a place before 0 as 0; others unchanged, or truncated to the integer below or above: `up` is 0 or 1. No place
   is an integer, since pi is transcendental. */
static struct inlay_fixed end_at(const struct place *place, bool truncate, uint64_t up)
{
    if (place->negative)
        return inlay_fixed_zero;
    return truncate ? inlay_fixed_integer(place->at.limb[0] + up) : place->at;
}

/* Returns true if the upper end is below 0. It is not if it is rounded up from above -1. */
static bool upper_end_negative(const struct place *place, bool truncate)
{
    return place->negative && !(truncate && place->at.limb[0] == 0);
}

/*
 * Returns the ramp over i from max(low, 0) to min(high, dim - 1), along which frequencies change from kept to divided.
 * If clamping swaps the ends, (i - low) / (high - low) has the same value for all pairs: 0 if high < 0, since low is 0
 * then; 1 if low > dim - 1, since every i is then further from low than high is.
 */
static struct ramp yarn_ramp(const inlay_rotary_spec *spec, struct inlay_fixed ln_base)
{
    const struct inlay_fixed last = inlay_fixed_integer(spec->dim - 1);
    struct place fast = place_of_rotations(spec, spec->beta_fast, ln_base);
    struct place slow = place_of_rotations(spec, spec->beta_slow, ln_base);
    if (upper_end_negative(&slow, spec->truncate))
        return divide_none;
    struct inlay_fixed low = end_at(&fast, spec->truncate, 0), high = end_at(&slow, spec->truncate, 1);
    if (inlay_fixed_less(last, low))
        return divide_all;
    if (inlay_fixed_less(last, high))
        high = last;
    if (!inlay_fixed_less(low, high)) /* equal: the authors' code adds 0.001 to avoid dividing by 0 */
        high = inlay_fixed_add(low, inlay_fixed_div(inlay_fixed_one, 1000));
    return (struct ramp){low, high};
}

static struct ramp ramp_of(const inlay_rotary_spec *spec, struct inlay_fixed ln_base)
{
    if (spec->scaling == INLAY_ROTARY_YARN)
        return yarn_ramp(spec, ln_base);
    if (spec->scaling ==
        INLAY_ROTARY_LLAMA3) /* divides up to low_freq_factor rotations, keeps from high_freq_factor on */
        return (struct ramp){inlay_fixed_of(spec->low_freq_factor), inlay_fixed_of(spec->high_freq_factor)};
    return spec->scaling == INLAY_ROTARY_LINEAR ? divide_all : divide_none;
}

/* ---- Attention factors ------------------------------------------------------------------------------------------ */

/* 1 + weight ln(factor) / 10 */
static struct inlay_fixed yarn_temperature(const inlay_rotary_spec *spec, double weight)
{
    struct inlay_fixed product = inlay_fixed_mul(inlay_fixed_of(weight), inlay_fixed_ln(spec->factor));
    return inlay_fixed_add(inlay_fixed_one, inlay_fixed_div(product, 10));
}

static double yarn_attention(const inlay_rotary_spec *spec)
{
    if (inlay_double_is_zero(spec->mscale) || inlay_double_is_zero(spec->mscale_all_dim))
        return inlay_round_f64(yarn_temperature(spec, 1), 0, false);
    struct inlay_fixed some = yarn_temperature(spec, spec->mscale), all = yarn_temperature(spec, spec->mscale_all_dim);
    return inlay_round_f64(inlay_fixed_quotient(some, all), 0, false);
}

/* sqrt(1 + ln(factor) / ln(original)) */
static double longrope_attention(const inlay_rotary_spec *spec)
{
    struct inlay_fixed ratio =
        inlay_fixed_quotient(inlay_fixed_ln(spec->factor), inlay_fixed_ln(spec->original_length));
    struct inlay_fixed sum = inlay_fixed_add(inlay_fixed_one, ratio), root = inlay_fixed_sqrt(sum);
    /* The root has 97 fraction bits. With a factor close to 1 and an original length close to a power of e it comes
       within 2^-105 of a tie, so a lower bit records if anything was cut off. */
    root.limb[INLAY_FIXED_LIMBS - 1] |= inlay_fixed_less(inlay_fixed_mul(root, root), sum);
    return inlay_round_f64(root, 0, false);
}

static double attention_of(const inlay_rotary_spec *spec)
{
    bool yarn = spec->scaling == INLAY_ROTARY_YARN, longrope = spec->scaling == INLAY_ROTARY_LONGROPE;
    if (!yarn && !longrope)
        return 1;
    if (!inlay_double_is_zero(spec->attention_factor))
        return spec->attention_factor;
    return yarn ? yarn_attention(spec) : longrope_attention(spec);
}

/* ---- Frequencies ----------------------------------------------------------------------------------------------- */

/* Shared by all frequencies of a spec. */
struct rule {
    const inlay_rotary_spec *spec;
    struct inlay_fixed ln_base, ln_stretch, inverse_factor;
    struct ramp ramp;
    const double *factors; /* [dim / 2] of LongRoPE, else null */
};

static struct rule rule_of(const inlay_rotary_spec *spec)
{
    bool divides = (WITH_FACTOR & ~LONGROPE) >> spec->scaling & 1;
    struct rule rule = {.spec = spec, .ln_base = inlay_fixed_ln(spec->base), .ln_stretch = ln_of(stretch_of(spec))};
    rule.inverse_factor = inverse_of(divides ? spec->factor : 1);
    rule.ramp = ramp_of(spec, rule.ln_base);
    if (spec->scaling == INLAY_ROTARY_LONGROPE)
        rule.factors =
            inlay_double_less(spec->original_length, spec->length) ? spec->long_factors : spec->short_factors;
    return rule;
}

/* number * 2^exponent with number in (1/2, 1] and exponent <= 0, so that small frequencies keep all their bits. */
struct frequency {
    struct inlay_fixed number;
    int exponent;
};

/* (base * stretch^(dim / (dim - 2)))^(-2i/dim) */
static struct frequency power_at(const struct rule *rule, uint32_t i)
{
    uint32_t dim = (uint32_t)rule->spec->dim;
    struct frequency power = {inlay_fixed_one, 0};
    if (i == 0)
        return power; /* dim 2 has only i = 0, and no dim - 2 to divide by */
    struct inlay_fixed of_base = inlay_fixed_div(multiple(rule->ln_base, 2 * (uint64_t)i), dim);
    struct inlay_fixed of_stretch = inlay_fixed_div(multiple(rule->ln_stretch, 2 * (uint64_t)i), dim - 2);
    power.number = inlay_fixed_exp(inlay_fixed_add(of_base, of_stretch), true, &power.exponent);
    return power;
}

/* Returns the rotations of a frequency over the original length. */
static struct inlay_fixed rotations_of(const inlay_rotary_spec *spec, const struct frequency *frequency)
{
    struct inlay_fixed length = inlay_fixed_of(spec->original_length);
    struct inlay_fixed rotations = inlay_fixed_mul(length, inlay_fixed_inverse_two_pi);
    return inlay_fixed_shift_right(inlay_fixed_mul(rotations, frequency->number), (unsigned)-frequency->exponent);
}

/* Returns the share of frequency i that the scaling leaves: kept + divided / factor, where kept + divided = 1. */
static struct inlay_fixed share_of(const struct rule *rule, uint32_t i, const struct frequency *frequency)
{
    if (rule->factors != NULL)
        return inverse_of(rule->factors[i]);
    bool over_rotations = rule->spec->scaling == INLAY_ROTARY_LLAMA3;
    struct inlay_fixed at = over_rotations ? rotations_of(rule->spec, frequency) : inlay_fixed_integer(i);
    struct inlay_fixed rising = ramp_at(&rule->ramp, at), falling = inlay_fixed_sub(inlay_fixed_one, rising);
    struct inlay_fixed divided = inlay_fixed_mul(over_rotations ? falling : rising, rule->inverse_factor);
    return inlay_fixed_add(over_rotations ? rising : falling, divided);
}

inlay_status inlay_rotary_frequencies(const inlay_rotary_spec *spec, double *inv_freq, double *attention_factor)
{
    inlay_status status = check_rotary(spec, inv_freq, attention_factor);
    if (status != INLAY_OK)
        return status;
    struct rule rule = rule_of(spec);
    for (uint32_t i = 0; i < spec->dim / 2; i++) {
        struct frequency power = power_at(&rule, i);
        struct inlay_fixed share = share_of(&rule, i, &power);
        inv_freq[i] = inlay_round_f64(inlay_fixed_mul(power.number, share), power.exponent, false);
    }
    *attention_factor = attention_of(spec);
    return INLAY_OK;
}
