/* SPDX-License-Identifier: MIT */
/*
 * The definition of every kernel, written by hand from its formula: the fallback where no SIMD kernel runs, and the
 * oracle of all that do. It shares no text with simd/ and includes none of it. Order of trust: MPFR and golden values,
 * then this file, then SIMD.
 */
#include "dispatch/kernels.h"
#include "base/bits.h"

#include <string.h>

static unsigned load_u16(const unsigned char *from)
{
    return from[0] | (unsigned)from[1] << 8;
}

/* Returns a float16 by the definition of binary16: sign * significand * 2^(exponent - 25), which is exact in float32.
 */
static float f16(unsigned bits)
{
    const unsigned sign = bits >> 15, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31)
        return inlay_f32_of_bits((uint32_t)sign << 31 | 0x7f800000 | (uint32_t)fraction << 13);
    const unsigned least = exponent > 0 ? exponent : 1;
    float significand = (float)(exponent > 0 ? 1024 + fraction : fraction);
    float magnitude = significand * inlay_f32_of_bits((uint32_t)(127 + least - 25) << 23);
    return sign ? -magnitude : magnitude;
}

static float as_signed(unsigned char byte)
{
    return (float)(byte < 128 ? (int)byte : (int)byte - 256);
}

/* Returns the 4-bit number at an index, with the lower half of each byte first. */
static unsigned nibble(const unsigned char *bytes, size_t i)
{
    return i % 2 == 0 ? bytes[i / 2] % 16u : bytes[i / 2] / 16u;
}

/* Returns the value of a 4-bit type of groups. */
static float value_grouped(const struct inlay_embed_tile *tile, size_t i, size_t column, int default_zero)
{
    size_t group = column / tile->group;
    int zero = tile->zeros != NULL ? (int)nibble(tile->zeros, tile->zero_at[i] + group) : default_zero;
    return (float)((int)nibble(tile->rows[i], column) - zero) * inlay_load_f32(tile->scales[i], group);
}

/* Returns number i of 32 in 16 bytes, whose lower halves come first and whose upper halves come then. */
static unsigned nibble_of_halves(const unsigned char *bytes, size_t i)
{
    return i < 16 ? bytes[i] % 16u : bytes[i - 16] / 16u;
}

/* Returns column `column` of row i, as inlay_element_type defines its value. */
static float value_of(const struct inlay_embed_tile *tile, size_t i, size_t column)
{
    const unsigned char *row = tile->rows[i], *scales = tile->scales != NULL ? tile->scales[i] : NULL;
    switch (tile->type) {
    case INLAY_F16:
        return f16(load_u16(row + 2 * column));
    case INLAY_BF16:
        return inlay_f32_of_bits((uint32_t)load_u16(row + 2 * column) << 16);
    case INLAY_I8:
        return as_signed(row[column]) * inlay_load_f32(scales, 0);
    case INLAY_I8_INVERSE:
        return as_signed(row[column]) * (1 / inlay_load_f32(scales, 0));
    case INLAY_U8_ROWWISE:
        return (float)row[column] * inlay_load_f32(scales, 0) + inlay_load_f32(scales, 1);
    case INLAY_U4_ROWWISE:
        return (float)nibble(row, column) * f16(load_u16(scales)) + f16(load_u16(scales + 2));
    case INLAY_U4_GROUPED:
        return value_grouped(tile, i, column, 8);
    case INLAY_U4_GROUPED_FLAT:
        return value_grouped(tile, i, column, 0);
    case INLAY_Q8_0:
        row += column / 32 * 34;
        return as_signed(row[2 + column % 32]) * f16(load_u16(row));
    case INLAY_Q4_0:
        row += column / 32 * 18;
        return ((float)nibble_of_halves(row + 2, column % 32) - 8) * f16(load_u16(row));
    default:
        return inlay_load_f32(row, column);
    }
}

/* The caller's tile is copied, since for all the compiler knows every store could change it. */
static void embed_scalar(const struct inlay_embed_tile *callers)
{
    const struct inlay_embed_tile tile = *callers;
    for (size_t i = 0; i < tile.count; i++) {
        if (tile.type == INLAY_F32 && tile.scale == 1 && tile.positions == NULL) {
            memmove(tile.out[i], tile.rows[i], tile.columns * sizeof(float));
            continue;
        }
        for (size_t column = 0; column < tile.columns; column++) {
            float value = value_of(&tile, i, column) * tile.scale;
            if (tile.positions != NULL)
                value = value + inlay_load_f32(tile.positions[i], column);
            inlay_store_f32(tile.out[i], column, value);
        }
    }
}

/* There is no approximation and no state: each entry is undecided until the integer path (positions/exact.c) has
   computed it. */
static void sinusoid_anchor_scalar(const struct inlay_sinusoid_anchor *anchor)
{
    (void)anchor;
}

static void sinusoid_reanchor_scalar(const struct inlay_sinusoid_reanchor *step)
{
    (void)step;
}

static bool sinusoid_rows_scalar(const struct inlay_sinusoid_tile *tile)
{
    size_t groups = inlay_padded(tile->pairs) / INLAY_PAIR_GROUP;
    memset(tile->undecided, 0xff, tile->rows * groups * sizeof *tile->undecided);
    return true;
}

/*
 * Returns the square root of a double, correctly rounded, digit by digit. Compilers would call the C library's, on
 * which results must not depend. x is no subnormal, and its root never lies in the middle of two doubles.
 */
static double square_root(double x)
{
    const uint64_t bits = inlay_bits_f64(x);
    if (x < 0)
        return __builtin_nan("");
    if (x == 0 || bits >= UINT64_C(0x7ff0000000000000))
        return x;
    /* x = significand / 2^52 * 2^exponent with an even exponent, so that the factor before the power is in [1, 4). */
    int exponent = (int)(bits >> 52) - 1023;
    uint64_t significand = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    if (exponent % 2 != 0) {
        significand <<= 1;
        exponent--;
    }
    /* Two binary digits of the factor, from those before its point on, give one of the root's 53 digits. */
    uint64_t root = 0, rest = 0;
    for (int digit = 0; digit < 53; digit++) {
        int place = 52 - 2 * digit;
        rest = rest << 2 | (place >= 0 ? significand >> place & 3 : 0);
        root <<= 1;
        if (rest > 2 * root) {
            rest -= 2 * root + 1;
            root++;
        }
    }
    root += rest > root; /* beyond (root + 1/2)^2 */
    return (double)root * inlay_f64_of_bits((uint64_t)(exponent / 2 - 52 + 1023) << 52);
}

/* Returns the sum of a row's columns, or of the squares of their distances from the mean. */
static double sum_of(const unsigned char *row, size_t columns, bool squared, double mean)
{
    double lane[16] = {0};
    for (size_t column = 0; column < columns; column++) {
        double term = (double)inlay_load_f32(row, column);
        if (squared) {
            term = term - mean;
            term = term * term;
        }
        lane[column % 16] = lane[column % 16] + term;
    }
    for (int distance = 8; distance > 0; distance /= 2)
        for (int j = 0; j < distance; j++)
            lane[j] = lane[j] + lane[j + distance];
    return lane[0];
}

static void norm_scalar(const struct inlay_norm_tile *tile)
{
    const double columns = (double)tile->columns;
    for (size_t i = 0; i < tile->count; i++) {
        const unsigned char *row = tile->rows[i];
        double mean = 0, variance = sum_of(row, tile->columns, true, 0) / columns;
        if (tile->centred) {
            mean = sum_of(row, tile->columns, false, 0) / columns;
            variance = variance - mean * mean;
            if (variance < mean * mean * INLAY_NORM_CANCELLED)
                variance = sum_of(row, tile->columns, true, mean) / columns;
        }
        double factor = 1 / square_root(variance + (double)tile->epsilon);
        for (size_t column = 0; column < tile->columns; column++) {
            double value = ((double)inlay_load_f32(row, column) - mean) * factor;
            if (tile->gamma != NULL)
                value = value * (double)inlay_load_f32(tile->gamma, column);
            if (tile->beta != NULL)
                value = value + (double)inlay_load_f32(tile->beta, column);
            inlay_store_f32(tile->out[i], column, (float)value);
        }
    }
}

/* Returns a float in a format of 16 bits with `fraction_bits` fraction bits and exponents biased by `bias`. */
static uint16_t narrow(float value, unsigned fraction_bits, int bias)
{
    const uint32_t bits = inlay_bits_f32(value), sign = bits >> 31 << 15, magnitude = bits & 0x7fffffff,
                   fraction = bits & 0x7fffff;
    const uint32_t infinity = (uint32_t)(2 * bias + 1) << fraction_bits, quiet = 1u << (fraction_bits - 1);
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | infinity | quiet | fraction >> (23 - fraction_bits));
    /* The value is significand * 2^(exponent - 23). */
    bool subnormal = magnitude < 0x800000;
    int exponent = subnormal ? -126 : (int)(magnitude >> 23) - 127;
    uint32_t significand = subnormal ? fraction : fraction | 0x800000;
    /* The exponent of the binade that it falls in. All numbers below the normal ones share one binade. */
    int binade = exponent > 1 - bias ? exponent : 1 - bias;
    int dropped = 23 - (int)fraction_bits + binade - exponent;
    if (dropped > 25)
        return (uint16_t)sign;
    uint32_t units = significand >> dropped, rest = significand - (units << dropped), half = 1u << (dropped - 1);
    if (rest > half || (rest == half && units % 2 == 1))
        units++;
    /* The leading bit of a normal number's units adds one to its exponent field, and so does a carry. */
    uint32_t result = ((uint32_t)(binade - (1 - bias)) << fraction_bits) + units;
    return (uint16_t)(sign | (result < infinity ? result : infinity));
}

static void cast_scalar(const struct inlay_cast_tile *tile)
{
    for (size_t i = 0; i < tile->count; i++) {
        if (tile->type == INLAY_F32) {
            memmove(tile->out[i], tile->rows[i], tile->columns * sizeof(float));
            continue;
        }
        for (size_t column = 0; column < tile->columns; column++) {
            float value = inlay_load_f32(tile->rows[i], column);
            uint16_t bits = tile->type == INLAY_F16 ? narrow(value, 10, 15) : narrow(value, 7, 127);
            memcpy(tile->out[i] + column * sizeof bits, &bits, sizeof bits);
        }
    }
}

const struct inlay_kernels inlay_kernels_scalar = {
    .name = "scalar",
    .embed = embed_scalar,
    .sinusoid_anchor = sinusoid_anchor_scalar,
    .sinusoid_reanchor = sinusoid_reanchor_scalar,
    .sinusoid_rows = sinusoid_rows_scalar,
    .norm = norm_scalar,
    .cast = cast_scalar,
};
