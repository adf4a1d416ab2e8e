/* SPDX-License-Identifier: MIT */
/*
 * Shared by the conversions of rows: source and destination of a row, its values and their range, and rounding. Numbers
 * are chosen in double, which represents float32, float16 and all scales exactly.
 */
#pragma once

#include "base/bits.h"
#include "base/rounding.h"

#include <string.h>

/* One row, and its destination. */
struct row {
    const unsigned char *from;          /* float32, any address */
    unsigned char *to, *scales, *zeros; /* null if the table has none */
    size_t first_zero;                  /* index of the row's first zero point in `zeros`, which has two in a byte */
    size_t dim, group;
    inlay_element_type type;
};

static inline double value_at(const unsigned char *row, size_t column)
{
    return inlay_load_f32(row, column);
}

static inline void put_half(unsigned char *to, size_t index, uint16_t half)
{
    memcpy(to + index * sizeof half, &half, sizeof half);
}

/* Returns x as a float, rounded to float16: |x| < 65520. */
static inline uint16_t to_half(double x)
{
    return inlay_float_to_f16(inlay_bits_f32((float)x));
}

/* Returns the value of a finite float16. */
static inline double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0 ? fraction : (double)(1024 + fraction) * (double)(1 << (exponent - 1));
    return (half >> 15 ? -magnitude : magnitude) * 0x1p-24;
}

/* Returns the smallest float16 >= x, for x >= 0. */
static inline uint16_t half_at_least(double x)
{
    const uint16_t half = to_half(x);
    return half_value(half) < x ? (uint16_t)(half + 1) : half;
}

/* Rounds to the nearest integer, ties to even. */
static inline double nearest(double x)
{
    const double magic = 0x1.8p52; /* leaves no bits for a fraction */
    return x + magic - magic;
}

static inline double clamped(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Returns the smallest number of units that is at least x, clamped to `most`; 0 if the unit is 0. */
static inline unsigned units_of(double x, double unit, unsigned most)
{
    if (unit == 0)
        return 0;
    const double units = nearest(x / unit);
    return (unsigned)clamped(units < x / unit ? units + 1 : units, 0, most);
}

/* Returns the exponent of a finite number: 2^exponent <= |x| < 2^(exponent + 1). x isn't a subnormal double; 0 has
   -1023. */
static inline int exponent_of(double x)
{
    return (int)(inlay_bits_f64(x) >> 52 & 2047) - 1023;
}

/* Returns 2^exponent, for the exponents of normal doubles. */
static inline double power_of_two(int exponent)
{
    return inlay_f64_of_bits((uint64_t)(1023 + exponent) << 52);
}

struct range {
    double least, most;
};

/* Returns the smallest and the largest value of columns [first, first + n). */
static inline struct range range_of(const unsigned char *row, size_t first, size_t n)
{
    struct range range = {value_at(row, first), value_at(row, first)};
    for (size_t i = first + 1; i < first + n; i++) {
        double x = value_at(row, i);
        range.least = x < range.least ? x : range.least;
        range.most = x > range.most ? x : range.most;
    }
    return range;
}

/* Returns the largest magnitude of a range: 0, not -0, if all values are zeros. */
static inline double magnitude_of(struct range range)
{
    return (-range.least > range.most ? -range.least : range.most) + 0.0;
}

/* Returns the 8-bit float (E4M3) nearest to x, ties to even, |x| < 464. The sign of zero is kept. */
static inline unsigned char inlay_e4m3_of(double x)
{
    enum { MIN_EXPONENT = -6, FRACTION_BITS = 3 };
    const double magnitude = x < 0 ? -x : x;
    const int exponent = exponent_of(magnitude), unit = exponent > MIN_EXPONENT ? exponent : MIN_EXPONENT;
    /* The leading bit of a normal number adds one to the exponent field, and a carry adds another one. */
    double bits = nearest(magnitude * power_of_two(FRACTION_BITS - unit)) + 8 * (double)(unit - MIN_EXPONENT);
    return (unsigned char)((unsigned)bits | (unsigned)(inlay_bits_f64(x) >> 63 << 7));
}

/* Returns the value of an 8-bit float (E4M3) other than NaN. */
static inline double inlay_e4m3_value(unsigned char byte)
{
    const int exponent = byte >> 3 & 15, fraction = byte & 7;
    const double magnitude = exponent == 0 ? fraction : (double)((8 + fraction) << (exponent - 1));
    return (byte >> 7 ? -magnitude : magnitude) * 0x1p-9;
}

/* The bits of the largest magnitude that a type holds: any, 65504 (the largest float16), 2^126, 2688 (6 times the
   largest E4M3); without scales, 127 and 448. */
enum {
    ANY = INT32_MAX,
    BITS_F16 = 0x477fe000,
    BITS_STEPS = 0x7e800000,
    BITS_2688 = 0x45280000,
    BITS_127 = 0x42fe0000,
    BITS_448 = 0x43e00000,
};

enum { SUPERBLOCK = 256, PARTS = 16 }; /* columns, and parts at most, of ggml's superblocks */

/* The conversion of one block of floats to a type of ggml. */
struct block_type {
    void (*block)(const unsigned char *from, const struct block_type *type, unsigned char *block);
    int largest;    /* of the stored numbers, or of the values that they represent, by magnitude */
    uint32_t limit; /* the bits of the largest magnitude that it holds */
    /* For inlay_search_scales(). A value is scale * number - min. Scale and min of a part are `units` units at most. */
    unsigned char parts, units;
    bool minima;               /* numbers, scales and mins aren't negative; otherwise there is no min */
    double bound;              /* of errors, in steps of all columns; less than in table.h, which includes rounding */
    const signed char *values; /* 16 ascending values of numbers; null: from 0 or -largest - 1 to largest */
};

extern const struct block_type inlay_block_types[INLAY_ELEMENT_TYPES];

/* The units of a block as float16, the scale and min of each part in units, and the numbers, which count from 0. */
struct block_scales {
    uint16_t half, min_half;
    int scales[PARTS], mins[PARTS];
    unsigned char q[SUPERBLOCK];
};

/* Searches for the scales and numbers of a block with a small sum of squared errors. */
struct block_scales inlay_search_scales(const struct block_type *type, const unsigned char *from);
