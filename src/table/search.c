/* SPDX-License-Identifier: MIT */
/*
 * The search for the scales of ggml's superblocks and IQ4_NL, with values scale * number - min. For given numbers, the
 * best scale and min solve a linear least-squares problem. The search alternates between rounding to numbers and
 * solving. Files store scales as integers times a unit of the block. For each part, the search tries several integers
 * and rounds to numbers again, with the scale as stored. Then it solves for the unit.
 *
 * Minimizing squared errors alone would shrink the values, and products with similar vectors. So the error to minimize
 * also has the square of the errors' projection on the values. This halves the bias and hardly adds to the squared
 * errors.
 *
 * The search can miss the best scales, e.g. of sparse blocks, and it doesn't bound the largest error tightly. So the
 * first fit of a block maps the range of each part to all numbers, without clamping. Another fit replaces it if its
 * error is smaller and its largest error doesn't exceed the bound of the type.
 */
#include "table/quantize.h"

enum {
    COLUMNS = 32,   /* of a part; superblocks of 16 parts have 16 */
    STARTS = 7,     /* scales from which the search for a part's scale starts */
    FIT_ROUNDS = 4, /* of rounding and solving, from each start */
    PASSES = 3,     /* over a block, each with another unit */
};

static const double max_error = 1e300;

/* The values of a part of a block, their range and sum, and the reciprocal of the sum of their squares, or 0. */
struct values {
    struct range range;
    double x[COLUMNS], sum, inverse_square;
};

/* Values are approximated by scale * number - min. */
struct fit {
    double scale, min;
};

/* Sums over values x, approximated by scale * u - min * w. */
struct sums {
    double uu, uw, ww, xu, xw;
};

/* Returns the error, less a constant. */
static double fit_error(const struct sums *sums, struct fit fit)
{
    return fit.scale * (fit.scale * sums->uu - 2 * (sums->xu + fit.min * sums->uw)) +
           fit.min * (fit.min * sums->ww + 2 * sums->xw);
}

/* Returns the fit with the smallest error. With minima, scale and min aren't negative; otherwise min is 0. If all
   numbers are equal, several fits have that error; the result has a min or a scale. */
static struct fit solve(const struct sums *sums, bool minima)
{
    const double determinant = sums->uu * sums->ww - sums->uw * sums->uw, rounding = 1e-9 * sums->uu * sums->ww;
    struct fit fit = {0, 0};
    if (minima && determinant > rounding)
        fit.min = (sums->uw * sums->xu - sums->uu * sums->xw) / determinant;
    else if (minima && sums->ww > 0)
        fit.min = -sums->xw / sums->ww;
    fit.min = fit.min > 0 ? fit.min : 0;
    if (sums->uu > 0)
        fit.scale = (sums->xu + fit.min * sums->uw) / sums->uu;
    fit.scale = minima && fit.scale < 0 ? 0 : fit.scale;
    return fit;
}

/* Returns the index of the value nearest to x, the first one of two. Values ascend. */
static inline unsigned nearest_level(const signed char values[16], double x)
{
    unsigned index = 0;
    for (unsigned half = 8; half > 0; half /= 2)
        index += half * (2 * x > values[index + half - 1] + values[index + half]);
    return index;
}

/* Returns the number of columns of a part. */
static inline size_t columns_of(const struct block_type *type)
{
    return type->parts == PARTS ? SUPERBLOCK / PARTS : COLUMNS;
}

/* Returns the lowest number of a type. */
static int lowest_of(const struct block_type *type)
{
    return type->values != NULL ? type->values[0] : type->minima ? 0 : -type->largest - 1;
}

/* Returns the lowest scale of a part, in units. */
static int lowest_scale_of(const struct block_type *type)
{
    return type->parts == 1 ? type->units : type->minima ? 0 : -type->units - 1;
}

static inline double size_of(double x)
{
    return x < 0 ? -x : x;
}

static double reciprocal(double scale)
{
    return scale == 0 ? 0 : 1 / scale;
}

/* Returns the sum of n values, a power of two, in an order that compilers can vectorize. Overwrites them. */
static double sum_values(double *x, size_t n)
{
    for (; n > 1; n /= 2)
        for (size_t i = 0; i < n / 2; i++)
            x[i] += x[i + n / 2];
    return x[0];
}

/* Returns the values of a part, which begin at a column. */
static struct values values_of(const struct block_type *type, const unsigned char *from, size_t first)
{
    struct values part = {.range = range_of(from, first, columns_of(type))};
    double squares = 0;
    for (size_t i = 0; i < columns_of(type); i++) {
        part.x[i] = value_at(from, first + i);
        part.sum += part.x[i];
        squares += part.x[i] * part.x[i];
    }
    part.inverse_square = reciprocal(squares);
    return part;
}

/* Computes the numbers of a part that are nearest for a fit. */
static inline void numbers_of(const struct block_type *type, const struct values *part, struct fit fit, double *numbers)
{
    const double inverse = reciprocal(fit.scale), low = lowest_of(type), high = type->largest;
    if (type->values != NULL)
        for (size_t i = 0; i < columns_of(type); i++)
            numbers[i] = type->values[nearest_level(type->values, part->x[i] * inverse)];
    else
        for (size_t i = 0; i < columns_of(type); i++)
            numbers[i] = clamped(nearest((part->x[i] + fit.min) * inverse), low, high);
}

/* Returns true if no error of a part exceeds a limit. */
static bool is_within(const struct block_type *type, const struct values *part, struct fit fit, double limit)
{
    double numbers[COLUMNS], largest = 0;
    numbers_of(type, part, fit, numbers);
    for (size_t i = 0; i < columns_of(type); i++) {
        const double error = size_of(fit.scale * numbers[i] - fit.min - part->x[i]);
        largest = error > largest ? error : largest;
    }
    return largest <= limit;
}

/* Returns the sums over a part, with the numbers that are nearest for a fit. They include the projection on x. */
static struct sums sums_of(const struct block_type *type, const struct values *part, struct fit fit)
{
    const size_t n = columns_of(type);
    double numbers[COLUMNS], squares[COLUMNS], products[COLUMNS];
    numbers_of(type, part, fit, numbers);
    for (size_t i = 0; i < n; i++) {
        squares[i] = numbers[i] * numbers[i];
        products[i] = numbers[i] * part->x[i];
    }
    const double xu = sum_values(products, n), xw = part->sum;
    return (struct sums){
        .uu = sum_values(squares, n) + xu * xu * part->inverse_square,
        .uw = sum_values(numbers, n) + xu * xw * part->inverse_square,
        .ww = (double)n + xw * xw * part->inverse_square,
        .xu = 2 * xu,
        .xw = 2 * xw,
    };
}

/* Writes the numbers of a part for a fit. They count from 0. */
static void put_numbers(const struct block_type *type, const struct values *part, struct fit fit, unsigned char *q)
{
    const double inverse = reciprocal(fit.scale), low = lowest_of(type), high = type->largest;
    for (size_t i = 0; i < columns_of(type); i++) {
        const double scaled = (part->x[i] + fit.min) * inverse;
        q[i] = (unsigned char)(type->values != NULL ? nearest_level(type->values, scaled)
                                                    : clamped(nearest(scaled), low, high) - low);
    }
}

/* Returns the scale that maps a part's range, shifted by a min, to a number of steps. */
static double scale_for(const struct block_type *type, struct range range, double min, double steps)
{
    return (type->minima ? range.most + min : -range.least > range.most ? -range.least : -range.most) / steps;
}

/* Returns the best scale and min of a part. Starts map the values to all numbers, or to a range that is up to 1.2
   numbers narrower or wider. Values beyond the last number are clamped. */
static struct fit fit_part(const struct block_type *type, const struct values *part)
{
    const double reach = type->minima ? type->largest : -lowest_of(type);
    const double gap = type->values != NULL ? (type->values[15] - type->values[0]) / 15.0 : 1;
    const double lowest = type->minima && part->range.least < 0 ? -part->range.least : 0;
    double best_error = 0;
    struct fit best = {0, 0};
    for (int start = 0; start < STARTS; start++) {
        const double beyond = 0.4 * (start - 3) * gap;
        struct fit fit = {scale_for(type, part->range, lowest, reach + beyond), 0};
        fit.min = clamped(lowest - fit.scale * beyond / 2, 0, lowest);
        for (int round = 0; round < FIT_ROUNDS; round++) {
            const struct sums sums = sums_of(type, part, fit);
            fit = solve(&sums, type->minima);
            const double error = fit_error(&sums, fit);
            if (error < best_error) {
                best_error = error;
                best = fit;
            } else if (round > 0) {
                break;
            }
        }
    }
    return best;
}

/* The scale and min of a part in units, and the sums and the error with them. */
struct part {
    int scale, min;
    struct sums sums;
    double error;
};

/* The units of a block, its parts, and the sum of their errors. */
struct block_fit {
    struct fit unit;
    struct part parts[PARTS];
    double error;
};

static struct fit fit_in_units(const struct part *part, struct fit unit)
{
    return (struct fit){part->scale * unit.scale, part->min * unit.min};
}

/* Returns the best scale and min in units near those of a fit, with errors up to a limit. */
static struct part part_in_units(const struct block_type *type, const struct values *values, struct fit wanted,
                                 struct fit unit, double limit)
{
    const int least = lowest_scale_of(type), most = type->units;
    const int middle = (int)clamped(nearest(wanted.scale * reciprocal(unit.scale)), least, most);
    const int near = type->minima ? 2 : 1; /* rounding the min moves the best scale */
    struct part best = {.error = max_error};
    for (int scale = middle - near; scale <= middle + near; scale++) {
        if (scale < least || scale > most)
            continue;
        const struct sums sums = sums_of(type, values, (struct fit){scale * unit.scale, wanted.min});
        const double min = type->minima ? (scale * unit.scale * sums.uw - sums.xw) / sums.ww : 0;
        /* A min is rounded down and up. */
        const int roundings = type->minima ? 2 : 1;
        for (int up = 0; up < roundings; up++) {
            const double units = nearest(min * reciprocal(unit.min) - 0.5) + up;
            struct part part = {.scale = scale, .min = (int)clamped(units, 0, most), .sums = sums};
            const struct fit fit = fit_in_units(&part, unit);
            if (type->minima)
                part.sums = sums_of(type, values, fit);
            part.error = fit_error(&part.sums, fit);
            if (part.error < best.error && is_within(type, values, fit, limit))
                best = part;
        }
    }
    return best;
}

/* Rounds a unit to float16. If scales are integers, it rounds away from 0, so none needs more units than there are. */
static double half_unit(const struct block_type *type, double x)
{
    const double largest = 65504, size = clamped(size_of(x), 0, largest);
    const double half = half_value(type->parts == 1 ? to_half(size) : half_at_least(size));
    return x < 0 ? -half : half;
}

static struct fit half_units(const struct block_type *type, struct fit fit)
{
    return (struct fit){half_unit(type, fit.scale), half_unit(type, fit.min)};
}

/* Returns the units that make the extreme scale and min of all parts extreme integers. */
static struct fit first_units(const struct block_type *type, const struct fit *fits)
{
    const int lowest = lowest_scale_of(type);
    double scale = 0, min = 0;
    for (size_t j = 0; j < type->parts; j++) {
        const double x = fits[j].scale;
        scale = size_of(x) > size_of(scale) ? x : scale;
        min = fits[j].min > min ? fits[j].min : min;
    }
    return half_units(type,
                      (struct fit){scale == 0 ? 0 : scale / (lowest < 0 ? lowest : type->units), min / type->units});
}

/* Returns the fit of a block that maps the range of each part to all numbers. Mins, then scales, are rounded away from
   0, so no value is clamped. The bounds in table.h follow from this. */
static struct block_fit cover_block(const struct block_type *type, const struct values *values)
{
    struct block_fit found = {.error = 0};
    double scales[PARTS], lowest = 0, widest = 0;
    for (size_t j = 0; j < type->parts; j++)
        lowest = type->minima && -values[j].range.least > lowest ? -values[j].range.least : lowest;
    found.unit.min = half_unit(type, lowest / type->units);
    for (size_t j = 0; j < type->parts; j++) {
        found.parts[j].min = (int)units_of(-values[j].range.least, found.unit.min, type->units);
        scales[j] = scale_for(type, values[j].range, found.parts[j].min * found.unit.min, type->largest);
        widest = size_of(scales[j]) > size_of(widest) ? scales[j] : widest;
    }
    found.unit.scale = half_unit(type, widest / type->units);
    for (size_t j = 0; j < type->parts; j++) {
        struct part *const part = &found.parts[j];
        const int units = (int)units_of(size_of(scales[j]), size_of(found.unit.scale), type->units);
        part->scale = (scales[j] < 0) == (found.unit.scale < 0) ? units : -units;
        const struct fit fit = fit_in_units(part, found.unit);
        part->sums = sums_of(type, &values[j], fit);
        part->error = fit_error(&part->sums, fit);
        found.error += part->error;
    }
    return found;
}

/* Returns the best parts in given units, with errors up to a limit. */
static struct block_fit fit_block(const struct block_type *type, const struct values *values, const struct fit *fits,
                                  struct fit unit, double limit)
{
    struct block_fit found = {.unit = unit};
    for (size_t j = 0; j < type->parts; j++) {
        found.parts[j] = part_in_units(type, &values[j], fits[j], unit, limit);
        found.error += found.parts[j].error;
    }
    return found;
}

/* Returns the best units for the scales, mins and numbers of a block. */
static struct fit best_units(const struct block_type *type, const struct block_fit *block)
{
    struct sums sums = {0, 0, 0, 0, 0};
    for (size_t j = 0; j < type->parts; j++) {
        const struct part *const part = &block->parts[j];
        sums.uu += part->scale * part->scale * part->sums.uu;
        sums.uw += part->scale * part->min * part->sums.uw;
        sums.ww += part->min * part->min * part->sums.ww;
        sums.xu += part->scale * part->sums.xu;
        sums.xw += part->min * part->sums.xw;
    }
    return half_units(type, solve(&sums, type->minima));
}

struct block_scales inlay_search_scales(const struct block_type *type, const unsigned char *from)
{
    const size_t n = columns_of(type);
    const struct range range = range_of(from, 0, type->parts * n);
    const double least = range.least < 0 ? range.least : 0, most = range.most > 0 ? range.most : 0;
    const double span = type->minima ? most - least : magnitude_of(range), smallest_unit = 0x1p-24;
    const double limit = type->bound * span / type->largest + 4 * smallest_unit;
    struct values values[PARTS];
    struct fit fits[PARTS];
    struct block_scales found = {0};
    for (size_t j = 0; j < type->parts; j++) {
        values[j] = values_of(type, from, j * n);
        fits[j] = fit_part(type, &values[j]);
    }
    struct block_fit best = cover_block(type, values);
    struct fit unit = first_units(type, fits);
    for (int pass = 0; pass < PASSES; pass++) {
        const struct block_fit next = fit_block(type, values, fits, unit, limit);
        best = next.error < best.error ? next : best;
        unit = best_units(type, &next);
    }
    found.half = to_half(best.unit.scale);
    found.min_half = to_half(best.unit.min);
    for (size_t j = 0; j < type->parts; j++) {
        found.scales[j] = best.parts[j].scale;
        found.mins[j] = best.parts[j].min;
        put_numbers(type, &values[j], fit_in_units(&best.parts[j], best.unit), found.q + j * n);
    }
    return found;
}
