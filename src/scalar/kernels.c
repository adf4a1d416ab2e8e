/* SPDX-License-Identifier: MIT */
/*
 * The definition of every kernel, written by hand from its formula: the fallback where no SIMD kernel runs, and the
 * oracle of all that do. It shares no text with simd/ and includes none of it. Order of trust: MPFR and golden values,
 * then this file, then SIMD.
 */
#include "../kernels.h"

#include <string.h>

static float load(const unsigned char *row, size_t column)
{
    float value;
    memcpy(&value, row + column * sizeof value, sizeof value);
    return value;
}

static void store(unsigned char *row, size_t column, float value)
{
    memcpy(row + column * sizeof value, &value, sizeof value);
}

static void embed_f32_scalar(const struct inlay_embed_tile *tile)
{
    for (size_t i = 0; i < tile->count; i++) {
        if (tile->scale == 1 && tile->positions == NULL) {
            memmove(tile->out[i], tile->rows[i], tile->columns * sizeof(float));
            continue;
        }
        for (size_t column = 0; column < tile->columns; column++) {
            float value = load(tile->rows[i], column) * tile->scale;
            if (tile->positions != NULL)
                value = value + load(tile->positions[i], column);
            store(tile->out[i], column, value);
        }
    }
}

/* No approximation, no state: each entry is in doubt until the integer path (../exact.c) has computed it. */
static void sinusoid_anchor_scalar(const struct inlay_sinusoid_anchor *anchor)
{
    (void)anchor;
}

static void sinusoid_leap_scalar(const struct inlay_sinusoid_leap *leap)
{
    (void)leap;
}

static bool sinusoid_rows_scalar(const struct inlay_sinusoid_tile *tile)
{
    size_t groups = inlay_padded(tile->pairs) / INLAY_PAIR_GROUP;
    memset(tile->marks, 0xff, tile->rows * groups * sizeof *tile->marks);
    return true;
}

/*
 * The square root of a float, correctly rounded, digit by digit: compilers call the C library's in this place, which is
 * none of the library's own. It is no subnormal, and never the middle of two floats.
 */
static float square_root(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x < 0)
        return __builtin_nanf("");
    if (x == 0 || bits >= 0x7f800000)
        return x;
    int exponent = (int)(bits >> 23) - 150;
    uint64_t square = bits & 0x7fffff;
    if (exponent == -150)
        exponent++;
    else
        square |= 0x800000;
    /* x = square * 2^exponent, of an even exponent and 47 or 48 bits, so that the root has 24. */
    while (square < UINT64_C(1) << 46 || exponent % 2 != 0) {
        square <<= 1;
        exponent--;
    }
    uint64_t root = 0;
    for (uint64_t digit = UINT64_C(1) << 23; digit > 0; digit >>= 1)
        if ((root + digit) * (root + digit) <= square)
            root += digit;
    root += square - root * root > root; /* beyond (root + 1/2)^2 */
    uint32_t power_bits = (uint32_t)(exponent / 2 + 127) << 23;
    float power;
    memcpy(&power, &power_bits, sizeof power);
    return (float)root * power;
}

/* The columns of a row, or of what goes with them. */
static float sum_of(const unsigned char *row, size_t columns, bool squared, float mean)
{
    float lane[16] = {0};
    for (size_t column = 0; column < columns; column++) {
        float term = load(row, column);
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
    const float columns = (float)tile->columns;
    for (size_t i = 0; i < tile->count; i++) {
        const unsigned char *row = tile->rows[i];
        float mean = tile->centred ? sum_of(row, tile->columns, false, 0) / columns : 0;
        float variance = sum_of(row, tile->columns, true, mean) / columns;
        float factor = 1 / square_root(variance + tile->epsilon);
        for (size_t column = 0; column < tile->columns; column++) {
            float value = (load(row, column) - mean) * factor;
            if (tile->gamma != NULL)
                value = value * load(tile->gamma, column);
            if (tile->beta != NULL)
                value = value + load(tile->beta, column);
            store(tile->out[i], column, value);
        }
    }
}

/* A float in a format of 16 bits, whose exponents have a bias. */
static uint16_t narrow(float value, unsigned fraction_bits, int bias)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 31 << 15, magnitude = bits & 0x7fffffff, fraction = bits & 0x7fffff;
    const uint32_t infinity = (uint32_t)(2 * bias + 1) << fraction_bits, quiet = 1u << (fraction_bits - 1);
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | infinity | quiet | fraction >> (23 - fraction_bits));
    /* The value is significand * 2^(exponent - 23). */
    bool subnormal = magnitude < 0x800000;
    int exponent = subnormal ? -126 : (int)(magnitude >> 23) - 127;
    uint32_t significand = subnormal ? fraction : fraction | 0x800000;
    /* That of the binade it falls in: below the normal numbers all share one. */
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
            float value = load(tile->rows[i], column);
            uint16_t bits = tile->type == INLAY_F16 ? narrow(value, 10, 15) : narrow(value, 7, 127);
            memcpy(tile->out[i] + column * sizeof bits, &bits, sizeof bits);
        }
    }
}

const struct inlay_kernels inlay_kernels_scalar = {
    .name = "scalar",
    .embed = {[INLAY_F32] = embed_f32_scalar},
    .sinusoid_anchor = sinusoid_anchor_scalar,
    .sinusoid_leap = sinusoid_leap_scalar,
    .sinusoid_rows = sinusoid_rows_scalar,
    .norm = norm_scalar,
    .cast = cast_scalar,
};
