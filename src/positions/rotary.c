/* SPDX-License-Identifier: MIT */
/*
 * The frequencies of rotary embeddings (Su et al. 2021) and of their scalings, as the papers have them and as Hugging
 * Face computes them (transformers, modeling_rope_utils.py, ROPE_INIT_FUNCTIONS), but in fixed point and rounded once.
 * Integers only. docs/rotary.md has each formula.
 *
 * Frequency i is (base * stretch^(dim / (dim - 2)))^(-2i/dim) times a share in [2^-20, 2^20]. The power is known within
 * 2^-235 of its size, the share within 2^-230, where it is a ramp between ends next to each other or over a base next
 * to 1 within 2^-140; a double keeps 53 bits. No result is the middle of two doubles: powers are irrational but for
 * powers of two, ramps contain pi or are fractions of few bits, logarithms are transcendental.
 */
#include "base/rounding.h"
#include "base/arguments.h"
#include "base/compare.h"

/* ---- What may be asked for ------------------------------------------------------------------------------------- */

static bool factor_valid(const inlay_rotary_spec *spec)
{
    return inlay_double_in(spec->factor, 1, 1e6);
}

static bool original_valid(const inlay_rotary_spec *spec)
{
    return inlay_double_in(spec->original_length, 2, 0x1p31) && inlay_double_less(spec->original_length, 0x1p31);
}

static bool length_valid(const inlay_rotary_spec *spec)
{
    return inlay_double_less(spec->length, 0x1p31);
}

static bool attention_valid(const inlay_rotary_spec *spec)
{
    return inlay_double_is_zero(spec->attention_factor) || inlay_double_in(spec->attention_factor, 0x1p-20, 0x1p10);
}

static bool llama3_valid(const inlay_rotary_spec *spec)
{
    return inlay_double_in(spec->low_freq_factor, 0x1p-20, 1e6) &&
           inlay_double_in(spec->high_freq_factor, 0x1p-20, 1e6) &&
           inlay_double_less(spec->low_freq_factor, spec->high_freq_factor);
}

static bool yarn_valid(const inlay_rotary_spec *spec)
{
    return inlay_double_in(spec->beta_fast, 0x1p-20, 1e6) && inlay_double_in(spec->beta_slow, 0x1p-20, 1e6) &&
           !inlay_double_less(spec->beta_fast, spec->beta_slow) && spec->truncate <= 1 &&
           inlay_double_in(spec->mscale, 0, 100) && inlay_double_in(spec->mscale_all_dim, 0, 100) &&
           attention_valid(spec);
}

static bool factors_valid(const double *factors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!inlay_double_in(factors[i], 0x1p-20, 0x1p20))
            return false;
    return true;
}

static bool longrope_valid(const inlay_rotary_spec *spec)
{
    return attention_valid(spec) && factors_valid(spec->short_factors, spec->dim / 2) &&
           factors_valid(spec->long_factors, spec->dim / 2);
}

/* Whether the numbers that the scaling names lie in their ranges; false for a scaling that is none. */
static bool numbers_valid(const inlay_rotary_spec *spec)
{
    switch (spec->scaling) {
    case INLAY_ROTARY_DEFAULT:
        return true;
    case INLAY_ROTARY_LINEAR:
    case INLAY_ROTARY_NTK:
        return factor_valid(spec);
    case INLAY_ROTARY_DYNAMIC_NTK:
        return factor_valid(spec) && original_valid(spec) && length_valid(spec);
    case INLAY_ROTARY_LLAMA3:
        return factor_valid(spec) && original_valid(spec) && llama3_valid(spec);
    case INLAY_ROTARY_YARN:
        return factor_valid(spec) && original_valid(spec) && yarn_valid(spec);
    case INLAY_ROTARY_LONGROPE:
        return factor_valid(spec) && original_valid(spec) && length_valid(spec) && longrope_valid(spec);
    }
    return false;
}

/* YaRN asks at which dimension a number of rotations stands: with base 1 it stands at none. */
static bool base_valid(const inlay_rotary_spec *spec)
{
    return inlay_double_in(spec->base, 1, 1e30) &&
           (spec->scaling != INLAY_ROTARY_YARN || inlay_double_less(1, spec->base));
}

/* The arrays alone, before any is read. */
static inlay_status check_arrays(const inlay_rotary_spec *spec, const double *inv_freq, const double *attention_factor)
{
    size_t pairs = spec->dim / 2;
    bool has_factors = spec->scaling == INLAY_ROTARY_LONGROPE;
    struct inlay_extent written[2], read[3];
    inlay_status status = inlay_check_array(inv_freq, pairs, sizeof *inv_freq, &written[0]);
    if (status == INLAY_OK)
        status = inlay_check_array(attention_factor, 1, sizeof *attention_factor, &written[1]);
    if (status == INLAY_OK)
        status = inlay_check_array(spec, spec->size, 1, &read[0]);
    if (status == INLAY_OK && has_factors)
        status = inlay_check_array(spec->short_factors, pairs, sizeof *spec->short_factors, &read[1]);
    if (status == INLAY_OK && has_factors)
        status = inlay_check_array(spec->long_factors, pairs, sizeof *spec->long_factors, &read[2]);
    if (status != INLAY_OK)
        return status;
    if (inlay_extents_overlap(written[0], written[1]))
        return INLAY_ERROR_OVERLAP;
    for (int i = 0; i < (has_factors ? 3 : 1); i++)
        if (inlay_extents_overlap(written[0], read[i]) || inlay_extents_overlap(written[1], read[i]))
            return INLAY_ERROR_OVERLAP;
    return INLAY_OK;
}

static inlay_status check(const inlay_rotary_spec *spec, const double *inv_freq, const double *attention_factor)
{
    if (spec == NULL || inv_freq == NULL || attention_factor == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec) || spec->reserved != 0 || spec->reserved_too != 0)
        return INLAY_ERROR_OPTION;
    if (spec->dim == 0 || spec->dim % 2 != 0 || spec->dim > INT32_MAX)
        return INLAY_ERROR_SHAPE;
    if (!base_valid(spec))
        return INLAY_ERROR_BASE;
    inlay_status status = check_arrays(spec, inv_freq, attention_factor);
    if (status != INLAY_OK)
        return status;
    return numbers_valid(spec) ? INLAY_OK : INLAY_ERROR_OPTION;
}

/* ---- Arithmetic ------------------------------------------------------------------------------------------------ */

/* ln x for 1 <= x < 2^63, within 2^-239: that of the nearest double, and 2 atanh z with z = (x - near) / (x + near), of
   whose series z + z^3 / 3 leaves less than 2^-270, since |z| <= 2^-54. */
static struct inlay_fixed ln_of(const struct inlay_fixed *x)
{
    double nearest = inlay_round_f64(x, 0, false);
    struct inlay_fixed near = inlay_fixed_of(nearest), ln_near = inlay_fixed_ln(nearest);
    bool below = inlay_fixed_less(x, &near);
    struct inlay_fixed gap = below ? inlay_fixed_sub(&near, x) : inlay_fixed_sub(x, &near);
    struct inlay_fixed sum = inlay_fixed_add(x, &near);
    struct inlay_fixed z = inlay_fixed_quotient(&gap, &sum);
    struct inlay_fixed cube = inlay_fixed_mul(&z, &z);
    cube = inlay_fixed_mul(&cube, &z);
    struct inlay_fixed third = inlay_fixed_div(&cube, 3);
    struct inlay_fixed atanh_z = inlay_fixed_add(&z, &third);
    struct inlay_fixed twice = inlay_fixed_add(&atanh_z, &atanh_z);
    return below ? inlay_fixed_sub(&ln_near, &twice) : inlay_fixed_add(&ln_near, &twice);
}

/* 1 / x */
static struct inlay_fixed inverse_of(double x)
{
    struct inlay_fixed one = inlay_fixed_integer(1), divisor = inlay_fixed_of(x);
    return inlay_fixed_quotient(&one, &divisor);
}

/* a * n */
static struct inlay_fixed multiple(const struct inlay_fixed *a, uint64_t n)
{
    struct inlay_fixed integer = inlay_fixed_integer(n);
    return inlay_fixed_mul(a, &integer);
}

/* From 0 at `from` to 1 at `to`; where both are one place, a step there, already 1 at it. */
struct ramp {
    struct inlay_fixed from, to;
};

static struct inlay_fixed ramp_at(const struct ramp *ramp, const struct inlay_fixed *x)
{
    if (!inlay_fixed_less(x, &ramp->to))
        return inlay_fixed_integer(1);
    if (!inlay_fixed_less(&ramp->from, x))
        return inlay_fixed_integer(0);
    struct inlay_fixed way = inlay_fixed_sub(x, &ramp->from);
    struct inlay_fixed width = inlay_fixed_sub(&ramp->to, &ramp->from);
    return inlay_fixed_quotient(&way, &width);
}

/* ---- NTK ------------------------------------------------------------------------------------------------------- */

/* factor * length / original - (factor - 1) for a length beyond the original one, as
   1 + factor * (length - original) / original, which is 1 up to there. */
static struct inlay_fixed dynamic_factor(const inlay_rotary_spec *spec)
{
    struct inlay_fixed one = inlay_fixed_integer(1);
    if (!inlay_double_less(spec->original_length, spec->length))
        return one;
    struct inlay_fixed factor = inlay_fixed_of(spec->factor), original = inlay_fixed_of(spec->original_length);
    struct inlay_fixed length = inlay_fixed_of(spec->length);
    struct inlay_fixed beyond = inlay_fixed_sub(&length, &original);
    beyond = inlay_fixed_mul(&beyond, &factor);
    beyond = inlay_fixed_quotient(&beyond, &original);
    return inlay_fixed_add(&one, &beyond);
}

/* The s of base * s^(dim / (dim - 2)); 1 where the base stays as it is. */
static struct inlay_fixed stretch_of(const inlay_rotary_spec *spec)
{
    switch (spec->scaling) {
    case INLAY_ROTARY_NTK:
        return inlay_fixed_of(spec->factor);
    case INLAY_ROTARY_DYNAMIC_NTK:
        return dynamic_factor(spec);
    default:
        return inlay_fixed_integer(1);
    }
}

/* ---- YaRN ------------------------------------------------------------------------------------------------------ */

/* A place on the line of pair indices, which may lie before the first: then `at` is how far. */
struct place {
    struct inlay_fixed at;
    bool negative;
};

/* Where a frequency makes so many rotations over the original length: dim ln(original / (2 pi rotations)) / (2 ln
   base); places past dim are all the same. find_correction_dim in the authors' code. */
static struct place place_of_rotations(const inlay_rotary_spec *spec, double rotations,
                                       const struct inlay_fixed *ln_base)
{
    struct inlay_fixed original = inlay_fixed_of(spec->original_length), radians = inlay_fixed_of(rotations);
    radians = inlay_fixed_mul(&radians, &inlay_fixed_two_pi);
    bool negative = inlay_fixed_less(&original, &radians);
    struct inlay_fixed ratio =
        negative ? inlay_fixed_quotient(&radians, &original) : inlay_fixed_quotient(&original, &radians);
    struct inlay_fixed ln_ratio = ln_of(&ratio);
    struct inlay_fixed numerator = multiple(&ln_ratio, spec->dim / 2);
    struct inlay_fixed limit = multiple(ln_base, spec->dim);
    if (!inlay_fixed_less(&numerator, &limit))
        return (struct place){inlay_fixed_integer(spec->dim), negative};
    return (struct place){inlay_fixed_quotient(&numerator, ln_base), negative};
}

/* A place rounded outwards, where that is asked for, is never an integer before: pi is transcendental. */
static struct inlay_fixed lower_end(const struct place *place, bool truncate)
{
    if (place->negative)
        return inlay_fixed_integer(0);
    return truncate ? inlay_fixed_integer(place->at.limb[0]) : place->at;
}

static struct inlay_fixed upper_end(const struct place *place, bool truncate)
{
    if (place->negative)
        return inlay_fixed_integer(0);
    return truncate ? inlay_fixed_integer(place->at.limb[0] + 1) : place->at;
}

/* Whether the upper end stays below 0: one that is rounded up from above -1 does not. */
static bool upper_end_negative(const struct place *place, bool truncate)
{
    return place->negative && !(truncate && place->at.limb[0] == 0);
}

/*
 * The ramp over i from max(low, 0) to min(high, dim - 1) along which frequencies pass from kept to divided. Where the
 * clamps swap the ends, (i - low) / (high - low) has one value for all pairs: 0 with an end below 0, since low is 0
 * then, and 1 with low past dim - 1, since then every i is further from low than high is.
 */
static struct ramp yarn_ramp(const inlay_rotary_spec *spec, const struct inlay_fixed *ln_base)
{
    const struct ramp none_divided = {inlay_fixed_integer(spec->dim), inlay_fixed_integer(spec->dim + 1)};
    const struct ramp all_divided = {inlay_fixed_integer(0), inlay_fixed_integer(0)};
    const struct inlay_fixed one = inlay_fixed_integer(1), last = inlay_fixed_integer(spec->dim - 1);
    struct place fast = place_of_rotations(spec, spec->beta_fast, ln_base);
    struct place slow = place_of_rotations(spec, spec->beta_slow, ln_base);
    if (upper_end_negative(&slow, spec->truncate))
        return none_divided;
    struct inlay_fixed low = lower_end(&fast, spec->truncate), high = upper_end(&slow, spec->truncate);
    if (inlay_fixed_less(&last, &low))
        return all_divided;
    if (inlay_fixed_less(&last, &high))
        high = last;
    if (!inlay_fixed_less(&low, &high)) {
        /* Both one place: the authors' code moves one end by 0.001, against dividing by 0. */
        struct inlay_fixed thousandth = inlay_fixed_div(&one, 1000);
        high = inlay_fixed_add(&low, &thousandth);
    }
    return (struct ramp){low, high};
}

/* 1 + weight ln(factor) / 10 */
static struct inlay_fixed yarn_temperature(const inlay_rotary_spec *spec, double weight)
{
    struct inlay_fixed one = inlay_fixed_integer(1), ln_factor = inlay_fixed_ln(spec->factor);
    struct inlay_fixed product = inlay_fixed_of(weight);
    product = inlay_fixed_mul(&product, &ln_factor);
    product = inlay_fixed_div(&product, 10);
    return inlay_fixed_add(&one, &product);
}

static double yarn_attention(const inlay_rotary_spec *spec)
{
    if (inlay_double_is_zero(spec->mscale) || inlay_double_is_zero(spec->mscale_all_dim)) {
        struct inlay_fixed plain = yarn_temperature(spec, 1);
        return inlay_round_f64(&plain, 0, false);
    }
    struct inlay_fixed some = yarn_temperature(spec, spec->mscale), all = yarn_temperature(spec, spec->mscale_all_dim);
    struct inlay_fixed quotient = inlay_fixed_quotient(&some, &all);
    return inlay_round_f64(&quotient, 0, false);
}

/* ---- LongRoPE -------------------------------------------------------------------------------------------------- */

static const double *longrope_factors(const inlay_rotary_spec *spec)
{
    return inlay_double_less(spec->original_length, spec->length) ? spec->long_factors : spec->short_factors;
}

/* sqrt(1 + ln(factor) / ln(original)) */
static double longrope_attention(const inlay_rotary_spec *spec)
{
    struct inlay_fixed ln_factor = inlay_fixed_ln(spec->factor), ln_original = inlay_fixed_ln(spec->original_length);
    struct inlay_fixed one = inlay_fixed_integer(1);
    struct inlay_fixed sum = inlay_fixed_quotient(&ln_factor, &ln_original);
    sum = inlay_fixed_add(&one, &sum);
    struct inlay_fixed root = inlay_fixed_sqrt(&sum);
    /* The root has 97 fraction bits. A factor next to 1 and an original length next to a power of e come within 2^-105
       of a tie, so that what was cut off must leave a trace. */
    struct inlay_fixed square = inlay_fixed_mul(&root, &root);
    root.limb[INLAY_FIXED_LIMBS - 1] |= inlay_fixed_less(&square, &sum);
    return inlay_round_f64(&root, 0, false);
}

/* ---- Frequencies ----------------------------------------------------------------------------------------------- */

/* What all frequencies of a spec share. */
struct rule {
    const inlay_rotary_spec *spec;
    struct inlay_fixed ln_base, ln_stretch;
    struct inlay_fixed inverse_factor; /* of linear, Llama 3, YaRN */
    struct ramp ramp;                  /* Llama 3: over rotations, of kept ones; YaRN: over i, of divided ones */
};

static struct rule rule_of(const inlay_rotary_spec *spec)
{
    struct rule rule = {.spec = spec, .ln_base = inlay_fixed_ln(spec->base)};
    struct inlay_fixed stretch = stretch_of(spec);
    rule.ln_stretch = ln_of(&stretch);
    if (spec->scaling == INLAY_ROTARY_LINEAR || spec->scaling == INLAY_ROTARY_LLAMA3 ||
        spec->scaling == INLAY_ROTARY_YARN)
        rule.inverse_factor = inverse_of(spec->factor);
    if (spec->scaling == INLAY_ROTARY_LLAMA3)
        rule.ramp = (struct ramp){inlay_fixed_of(spec->low_freq_factor), inlay_fixed_of(spec->high_freq_factor)};
    if (spec->scaling == INLAY_ROTARY_YARN)
        rule.ramp = yarn_ramp(spec, &rule.ln_base);
    return rule;
}

/* number * 2^exponent, number in (1/2, 1], exponent <= 0: small frequencies keep all their bits. */
struct frequency {
    struct inlay_fixed number;
    int exponent;
};

/* (base * stretch^(dim / (dim - 2)))^(-2i/dim) */
static struct frequency power_at(const struct rule *rule, uint32_t i)
{
    uint32_t dim = (uint32_t)rule->spec->dim;
    struct frequency power = {inlay_fixed_integer(1), 0};
    if (i == 0)
        return power; /* whatever the base; with dim 2 there is no other, and no dim - 2 to divide by */
    struct inlay_fixed of_base = multiple(&rule->ln_base, 2 * (uint64_t)i);
    struct inlay_fixed of_stretch = multiple(&rule->ln_stretch, 2 * (uint64_t)i);
    of_base = inlay_fixed_div(&of_base, dim);
    of_stretch = inlay_fixed_div(&of_stretch, dim - 2);
    struct inlay_fixed exponent = inlay_fixed_add(&of_base, &of_stretch);
    power.number = inlay_fixed_exp(&exponent, true, &power.exponent);
    return power;
}

/* 2^exponent for -256 <= exponent <= 0 */
static struct inlay_fixed power_of_two(int exponent)
{
    struct inlay_fixed power = {{0}};
    int bit = 63 - exponent; /* counted from the most significant */
    power.limb[bit / 64] = UINT64_C(1) << (63 - bit % 64);
    return power;
}

/* How often a frequency turns round over the original length. */
static struct inlay_fixed rotations_of(const inlay_rotary_spec *spec, const struct frequency *frequency)
{
    struct inlay_fixed length = inlay_fixed_of(spec->original_length), unit = power_of_two(frequency->exponent);
    struct inlay_fixed rotations = inlay_fixed_mul(&length, &inlay_fixed_inverse_two_pi);
    rotations = inlay_fixed_mul(&rotations, &frequency->number);
    return inlay_fixed_mul(&rotations, &unit);
}

/* kept + (1 - kept) / factor, for 0 <= kept <= 1 */
static struct inlay_fixed blend(const struct rule *rule, const struct inlay_fixed *kept)
{
    struct inlay_fixed one = inlay_fixed_integer(1);
    struct inlay_fixed divided = inlay_fixed_sub(&one, kept);
    divided = inlay_fixed_mul(&divided, &rule->inverse_factor);
    return inlay_fixed_add(kept, &divided);
}

/* Llama 3.1: frequencies of at most low_freq_factor rotations are divided, of at least high_freq_factor kept. */
static struct inlay_fixed llama3_share(const struct rule *rule, const struct frequency *frequency)
{
    struct inlay_fixed rotations = rotations_of(rule->spec, frequency);
    struct inlay_fixed kept = ramp_at(&rule->ramp, &rotations);
    return blend(rule, &kept);
}

static struct inlay_fixed yarn_share(const struct rule *rule, uint32_t i)
{
    struct inlay_fixed one = inlay_fixed_integer(1), place = inlay_fixed_integer(i);
    struct inlay_fixed divided = ramp_at(&rule->ramp, &place);
    struct inlay_fixed kept = inlay_fixed_sub(&one, &divided);
    return blend(rule, &kept);
}

/* What the scaling leaves of frequency i. */
static struct inlay_fixed share_of(const struct rule *rule, uint32_t i, const struct frequency *frequency)
{
    switch (rule->spec->scaling) {
    case INLAY_ROTARY_LINEAR:
        return rule->inverse_factor;
    case INLAY_ROTARY_LLAMA3:
        return llama3_share(rule, frequency);
    case INLAY_ROTARY_YARN:
        return yarn_share(rule, i);
    case INLAY_ROTARY_LONGROPE:
        return inverse_of(longrope_factors(rule->spec)[i]);
    default: /* those of NTK have all of it in the base */
        return inlay_fixed_integer(1);
    }
}

static double frequency_at(const struct rule *rule, uint32_t i)
{
    struct frequency power = power_at(rule, i);
    struct inlay_fixed share = share_of(rule, i, &power);
    struct inlay_fixed scaled = inlay_fixed_mul(&power.number, &share);
    return inlay_round_f64(&scaled, power.exponent, false);
}

static double attention_of(const inlay_rotary_spec *spec)
{
    if (spec->scaling != INLAY_ROTARY_YARN && spec->scaling != INLAY_ROTARY_LONGROPE)
        return 1;
    if (!inlay_double_is_zero(spec->attention_factor))
        return spec->attention_factor;
    return spec->scaling == INLAY_ROTARY_YARN ? yarn_attention(spec) : longrope_attention(spec);
}

inlay_status inlay_rotary_frequencies(const inlay_rotary_spec *spec, double *inv_freq, double *attention_factor)
{
    inlay_status status = check(spec, inv_freq, attention_factor);
    if (status != INLAY_OK)
        return status;
    struct rule rule = rule_of(spec);
    for (uint32_t i = 0; i < spec->dim / 2; i++)
        inv_freq[i] = frequency_at(&rule, i);
    *attention_factor = attention_of(spec);
    return INLAY_OK;
}
