/* SPDX-License-Identifier: MIT */
/*
 * The sinusoid handle, single entries by the exact fallback, and the columns of entries.
 */
#include "positions/sinusoid.h"

#include "base/compare.h"
#include "base/fpenv.h"
#include "base/memory.h"
#include "base/rounding.h"
#include "dispatch/kernels.h"

#include <string.h>

/* ---- The handle ---------------------------------------------------------------------------------------------------
 */

static size_t pairs_of(const inlay_sinusoid_spec *spec)
{
    return spec->dim / 2 + (spec->odd == INLAY_SINUSOID_ODD_FORMULA ? spec->dim % 2 : 0);
}

static inlay_status check_spec(const inlay_sinusoid_spec *spec)
{
    if (spec == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec) || spec->reserved != 0 || inlay_recipe_name(spec->recipe) == NULL ||
        spec->layout < INLAY_SINUSOID_LAYOUT_INTERLEAVED || spec->layout > INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST ||
        spec->spacing < INLAY_SINUSOID_SPACING_DIM || spec->spacing > INLAY_SINUSOID_SPACING_HALF ||
        spec->odd < INLAY_SINUSOID_ODD_FORMULA || spec->odd > INLAY_SINUSOID_ODD_ERROR || spec->shift > 1 ||
        spec->float_angles > 1 || (spec->inv_freq != NULL && spec->recipe != INLAY_RECIPE_EXACT) ||
        (spec->float_angles && spec->inv_freq == NULL))
        return INLAY_ERROR_OPTION;
    if (spec->dim == 0 || spec->dim > INT32_MAX || (spec->odd == INLAY_SINUSOID_ODD_ERROR && spec->dim % 2 == 1))
        return INLAY_ERROR_SHAPE;
    if (spec->inv_freq == NULL && !inlay_double_in(spec->base, 1, 1e30))
        return INLAY_ERROR_BASE;
    if (!inlay_double_in(spec->amplitude, 0x1p-20, 0x1p10) ||
        (spec->inv_freq != NULL && !inlay_doubles_in(spec->inv_freq, pairs_of(spec), 0, 0x1p31)))
        return INLAY_ERROR_OPTION;
    return INLAY_OK;
}

/* Computes frequency i, base^-e(i) / (2 pi) turns, with one exp for all and one multiplication for each. Truncation
   errors add up to less than 2^-240 at dim 4096, and to less than 2^-220 at the largest dim. */
static void prepare_frequencies(inlay_sinusoid *sinusoid, const inlay_sinusoid_spec *spec)
{
    size_t half = spec->dim / 2, intervals = half > spec->shift ? half - spec->shift : 1;
    struct inlay_fixed ln_base = inlay_fixed_ln(spec->base);
    struct inlay_fixed exponent = spec->spacing == INLAY_SINUSOID_SPACING_DIM
                                      ? inlay_fixed_div(inlay_fixed_add(ln_base, ln_base), (uint32_t)spec->dim)
                                      : inlay_fixed_div(ln_base, (uint32_t)intervals);
    int binary_exponent;
    struct inlay_fixed ratio = inlay_fixed_exp(exponent, true, &binary_exponent),
                       frequency = inlay_fixed_inverse_two_pi;
    ratio = inlay_fixed_shift_right(ratio, (unsigned)-binary_exponent);
    for (size_t i = 0; i < sinusoid->pairs; i++) {
        sinusoid->frequencies[i] = frequency;
        frequency = inlay_fixed_mul(frequency, ratio);
    }
}

/* Takes the caller's frequencies, which are in radians. */
static void take_frequencies(inlay_sinusoid *sinusoid, const double *inv_freq)
{
    for (size_t i = 0; i < sinusoid->pairs; i++) {
        sinusoid->frequencies[i] = inlay_fixed_mul(inlay_fixed_of(inv_freq[i]), inlay_fixed_inverse_two_pi);
        sinusoid->factors[i] = inv_freq[i];
    }
}

/* Splits the quarter turns per position into two doubles: modulo 4, in [-2, 2], since positions are whole numbers. */
static void prepare_turns(const inlay_sinusoid *sinusoid)
{
    for (size_t i = 0; i < sinusoid->pairs; i++) {
        struct inlay_fixed turns = sinusoid->frequencies[i], rest;
        turns.limb[0] = 0;
        const bool negative = turns.limb[1] >> 63;
        if (negative)
            turns = inlay_fixed_sub(inlay_fixed_one, turns);
        const double high = inlay_round_f64(turns, 2, false);
        const struct inlay_fixed rounded = inlay_fixed_of(high / 4);
        const bool above = inlay_fixed_less(turns, rounded);
        rest = above ? inlay_fixed_sub(rounded, turns) : inlay_fixed_sub(turns, rounded);
        sinusoid->turns_high[i] = negative ? -high : high;
        sinusoid->turns_low[i] = inlay_round_f64(rest, 2, negative != above);
    }
    /* The padding is turned like the first pair, which the rounding test nearly always decides. */
    for (size_t i = sinusoid->pairs; i < inlay_padded(sinusoid->pairs); i++)
        sinusoid->turns_high[i] = sinusoid->turns_high[0];
}

static double rounded_sine(const inlay_sinusoid *sinusoid, struct inlay_phase phase)
{
    bool negative;
    struct inlay_fixed sine = inlay_exact_sine(&sinusoid->taylor, &phase, &negative);
    return inlay_round_f64(sine, 0, negative);
}

/* Computes the rotation of each pair by a number of positions. The padding does not rotate: its cosine is 1, so that
   the rounding test always decides it. */
static void prepare_rotation(const inlay_sinusoid *sinusoid, unsigned positions, double *sin, double *cos)
{
    const struct inlay_real x = {positions, 0, false};
    for (size_t i = 0; i < sinusoid->pairs; i++) {
        struct inlay_phase phase = inlay_phase_of(&sinusoid->frequencies[i], x);
        sin[i] = rounded_sine(sinusoid, phase);
        phase.quadrant = (phase.quadrant + 1) % 4;
        cos[i] = rounded_sine(sinusoid, phase);
    }
    for (size_t i = sinusoid->pairs; i < inlay_padded(sinusoid->pairs); i++)
        cos[i] = 1;
}

inlay_status inlay_sinusoid_create(const inlay_sinusoid_spec *spec, const inlay_allocator *allocator,
                                   inlay_sinusoid **sinusoid)
{
    if (sinusoid == NULL)
        return INLAY_ERROR_NULL;
    *sinusoid = NULL;
    inlay_allocator memory;
    inlay_status status = check_spec(spec);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status != INLAY_OK)
        return status;

    const struct inlay_angles *angles = inlay_angles_of(spec);
    bool exact = angles == NULL, has_factors = !exact || spec->inv_freq != NULL;
    size_t padded = inlay_padded(pairs_of(spec)), bytes;
    size_t pair_bytes = (exact ? sizeof(struct inlay_fixed) + 6 * sizeof(double) : 0) + has_factors * sizeof(double);
    if (__builtin_mul_overflow(padded, pair_bytes, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(inlay_sinusoid), &bytes))
        return INLAY_ERROR_OVERFLOW;
    inlay_sinusoid *made = memory.allocate(memory.ctx, bytes);
    if (made == NULL)
        return INLAY_ERROR_NO_MEMORY;
    memset(made, 0, bytes);
    made->allocator = memory;
    made->bytes = bytes;
    made->dim = spec->dim;
    made->pairs = pairs_of(spec);
    made->layout = spec->layout;
    made->odd = spec->odd;
    made->angles = angles;
    /* The amplitude is rounded to a float in fixed point, since the caller's environment may round otherwise. */
    made->amplitude = exact ? spec->amplitude : 1;
    made->amplitude_fixed = inlay_fixed_of(made->amplitude);
    made->float_amplitude = exact ? 1 : inlay_round_f32(inlay_fixed_of(spec->amplitude), 0, false);
    inlay_taylor_init(&made->taylor);
    double *behind = (double *)(made->frequencies + (exact ? padded : 0));
    made->factors = has_factors ? behind + (exact ? 6 * padded : 0) : NULL;
    if (exact) {
        double **const arrays[] = {&made->sin_step,     &made->cos_step,   &made->sin_reanchor,
                                   &made->cos_reanchor, &made->turns_high, &made->turns_low};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            *arrays[i] = behind + i * padded;
        if (spec->inv_freq != NULL)
            take_frequencies(made, spec->inv_freq);
        else
            prepare_frequencies(made, spec);
        prepare_turns(made);
        prepare_rotation(made, 1, made->sin_step, made->cos_step);
        prepare_rotation(made, INLAY_ANCHOR_ROWS, made->sin_reanchor, made->cos_reanchor);
    } else { /* the factors of a recipe are floating-point arithmetic, which depends on the environment */
        struct inlay_fpenv host = inlay_fpenv_enter();
        inlay_angles_prepare(spec, made->pairs, made->factors);
        inlay_fpenv_leave(host);
    }
    *sinusoid = made;
    return INLAY_OK;
}

void inlay_sinusoid_destroy(inlay_sinusoid *sinusoid)
{
    if (sinusoid != NULL)
        sinusoid->allocator.release(sinusoid->allocator.ctx, sinusoid);
}

/* ---- One entry, exactly -------------------------------------------------------------------------------------------
 */

/* Returns whether the frequency of a pair is 0. Only the caller's own can be: they fill up tables that rotate a part of
   the columns. */
static bool is_constant(const inlay_sinusoid *sinusoid, size_t pair)
{
    return sinusoid->factors != NULL && sinusoid->angles == NULL && sinusoid->factors[pair] == 0;
}

/* Computes the sine again, with an exponent, if its angle is too small for the bits of a fixed-point phase. */
static void correct_small_sine(const inlay_sinusoid *sinusoid, size_t pair, struct inlay_real x,
                               struct inlay_fixed *value, int *exponent)
{
    if (sinusoid->factors != NULL) { /* the angle in radians is a product of doubles */
        double frequency = sinusoid->angles != NULL ? 1 : sinusoid->factors[pair];
        inlay_exact_small_sine(x, frequency, sinusoid->amplitude, value, exponent);
    } else if (x.mantissa != 0 && inlay_fixed_less(*value, inlay_fixed_unit)) {
        *value = inlay_fixed_unit; /* rounds to a zero with the sign of the sine */
    }
}

/* Subtracts one unit of the last place from a cosine that fixed point cannot tell from 1 although its angle is not 0. A
   cosine is less than 1 then; times an amplitude in the middle of two numbers, 1 would be a tie. */
static void correct_large_cosine(const inlay_sinusoid *sinusoid, size_t pair, struct inlay_real x,
                                 struct inlay_fixed *value)
{
    if (x.mantissa != 0 && !is_constant(sinusoid, pair) && !inlay_fixed_less(*value, sinusoid->amplitude_fixed))
        *value = inlay_fixed_sub(*value, inlay_fixed_unit);
}

uint64_t inlay_sinusoid_exact(const inlay_sinusoid *sinusoid, size_t pair, bool cosine, double position,
                              inlay_element_type type)
{
    double angle = position;
    if (sinusoid->angles != NULL)
        inlay_angles_compute(sinusoid->angles, &sinusoid->factors[pair], 1, position, &angle);
    struct inlay_real x = inlay_real_of(angle);
    if (!cosine && (x.mantissa == 0 || is_constant(sinusoid, pair)))
        return 0;
    struct inlay_phase phase = inlay_phase_of(inlay_frequency_of(sinusoid, pair), x);
    phase.quadrant = (phase.quadrant + cosine) % 4;
    bool negative;
    struct inlay_fixed value = inlay_exact_sine(&sinusoid->taylor, &phase, &negative);
    if (sinusoid->amplitude != 1)
        value = inlay_fixed_mul(value, sinusoid->amplitude_fixed);
    int exponent = 0;
    if (cosine)
        correct_large_cosine(sinusoid, pair, x, &value);
    else
        correct_small_sine(sinusoid, pair, x, &value, &exponent);
    return inlay_round(value, exponent, negative, inlay_format_of(type));
}

/* ---- Columns ------------------------------------------------------------------------------------------------------
 */

struct inlay_placement inlay_sinusoid_in_row(const inlay_sinusoid *sinusoid, size_t first, size_t pairs)
{
    bool interleaved = sinusoid->layout == INLAY_SINUSOID_LAYOUT_INTERLEAVED;
    bool cos_first = sinusoid->layout == INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST;
    bool at_end = first + pairs == sinusoid->pairs, odd = sinusoid->dim % 2 == 1;
    bool incomplete = at_end && odd && sinusoid->odd == INLAY_SINUSOID_ODD_FORMULA;
    /* The first columns of those that come first in the layout, and of those that come second. */
    size_t front = interleaved ? 2 * first : first, back = interleaved ? front + 1 : sinusoid->pairs + first;
    struct inlay_placement placement = {
        .interleaved = interleaved,
        .sin = cos_first ? back : front,
        .cos = cos_first ? front : back,
        .sines = pairs - (incomplete && cos_first),
        .cosines = pairs - (incomplete && !cos_first),
        .last = at_end && odd && sinusoid->odd != INLAY_SINUSOID_ODD_FORMULA,
        .last_column = sinusoid->dim - 1,
    };
    placement.columns = placement.sines + placement.cosines + placement.last;
    /* In a piece that is a whole row, the extra last column belongs to the only run. */
    size_t together = interleaved || pairs == sinusoid->pairs ? placement.columns : pairs;
    placement.runs = placement.columns > together ? 2 : 1;
    placement.run[0] = (struct inlay_columns){front, together, 0};
    placement.run[1] = (struct inlay_columns){back, placement.columns - together, together};
    return placement;
}

struct inlay_placement inlay_sinusoid_in_piece(const inlay_sinusoid *sinusoid, size_t first, size_t pairs)
{
    struct inlay_placement placement = inlay_sinusoid_in_row(sinusoid, first, pairs);
    bool cos_first = placement.cos < placement.sin;
    placement.sin = cos_first ? pairs : 0;
    placement.cos = placement.interleaved ? 1 : cos_first ? 0 : pairs;
    placement.last_column = placement.columns - 1;
    return placement;
}
