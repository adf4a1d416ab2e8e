/* SPDX-License-Identifier: MIT */
/*
 * Conversion of floats to blocks of ggml's types. Scales follow from minima and maxima. The types of which ggml's
 * reference does the same get its bytes; those of codebooks and superblocks, for which it searches, do not.
 */
#include "table/quantize.h"

enum { BLOCK = 32, SUPERBLOCK = 256 };

/* As ggml's quantize_row_q8_0_ref: numbers are chosen by the scale before it is rounded to float16. */
void inlay_quantize_q8_0(const unsigned char *from, unsigned char *block)
{
    const float d = (float)magnitude_of(range_of(from, 0, BLOCK)) / 127;
    const uint16_t half = to_half(d);
    const float inverse = half != 0 ? 1 / d : 0;
    put_half(block, 0, half);
    for (size_t i = 0; i < BLOCK; i++) {
        float scaled = (float)value_at(from, i) * inverse;
        /* Ties away from zero. */
        double q = (double)(int)((double)scaled + (scaled < 0 ? -0.5 : 0.5));
        block[2 + i] = (unsigned char)(signed char)clamped(q, -127, 127);
    }
}

/* Writes the 32 numbers of a block: byte i holds the lower halves of those of columns i and i + 16. */
static void put_halves(unsigned char *to, const unsigned char q[BLOCK])
{
    for (size_t i = 0; i < BLOCK / 2; i++)
        to[i] = (unsigned char)((q[i] & 15) | q[i + BLOCK / 2] << 4);
}

/* Writes the fifth bits of 32 numbers. */
static void put_fifths(unsigned char *to, const unsigned char q[BLOCK])
{
    memset(to, 0, BLOCK / 8);
    for (size_t i = 0; i < BLOCK; i++)
        to[i / 8] = (unsigned char)(to[i / 8] | q[i] >> 4 << i % 8);
}

/* Returns the value with the largest magnitude of a block, the first one of several. */
static float extreme_of(const unsigned char *from)
{
    float extreme = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        float x = inlay_load_f32(from, i);
        extreme = (x < 0 ? -x : x) > (extreme < 0 ? -extreme : extreme) ? x : extreme;
    }
    return extreme;
}

/* Writes the scale of a block and finds its numbers below 2 * `half_range`, as ggml's quantize_row_q4_0_ref and
   _q5_0_ref do: the value with the largest magnitude becomes -half_range, whatever its sign. */
static void quantize_signed(const unsigned char *from, int half_range, unsigned char *block, unsigned char q[BLOCK])
{
    const float d = extreme_of(from) / (float)-half_range;
    const uint16_t half = to_half(d);
    const float inverse = (half & INT16_MAX) != 0 ? 1 / d : 0;
    put_half(block, 0, half);
    for (size_t i = 0; i < BLOCK; i++) {
        float scaled = inlay_load_f32(from, i) * inverse;
        q[i] = (unsigned char)clamped((double)(scaled + ((float)half_range + 0.5f)), 0, 2 * half_range - 1);
    }
}

void inlay_quantize_q4_0(const unsigned char *from, unsigned char *block)
{
    unsigned char q[BLOCK];
    quantize_signed(from, 8, block, q);
    put_halves(block + 2, q);
}

void inlay_quantize_q5_0(const unsigned char *from, unsigned char *block)
{
    unsigned char q[BLOCK];
    quantize_signed(from, 16, block, q);
    put_fifths(block + 2, q);
    put_halves(block + 6, q);
}

/* Writes the scale and the minimum of a block and finds its numbers up to `most`, as ggml's quantize_row_q4_1_ref and
   _q5_1_ref do. */
static void quantize_ranged(const unsigned char *from, int most, unsigned char *block, unsigned char q[BLOCK])
{
    const struct range range = range_of(from, 0, BLOCK);
    const float least = (float)range.least, d = ((float)range.most - least) / (float)most;
    const uint16_t half = to_half(d);
    const float inverse = half != 0 ? 1 / d : 0;
    put_half(block, 0, half);
    put_half(block, 1, to_half(least));
    for (size_t i = 0; i < BLOCK; i++) {
        float scaled = (inlay_load_f32(from, i) - least) * inverse;
        q[i] = (unsigned char)clamped((double)(scaled + 0.5f), 0, most);
    }
}

void inlay_quantize_q4_1(const unsigned char *from, unsigned char *block)
{
    unsigned char q[BLOCK];
    quantize_ranged(from, 15, block, q);
    put_halves(block + 4, q);
}

void inlay_quantize_q5_1(const unsigned char *from, unsigned char *block)
{
    unsigned char q[BLOCK];
    quantize_ranged(from, 31, block, q);
    put_fifths(block + 4, q);
    put_halves(block + 8, q);
}

/* ---- Codebooks -------------------------------------------------------------------------------------------------- */

/* Returns the number of the value nearest to x, the first one of two. */
static unsigned char nearest_of(const signed char values[16], double x)
{
    unsigned char best = 0;
    double least = 1e300;
    for (unsigned char i = 0; i < 16; i++) {
        double distance = x < values[i] ? values[i] - x : x - values[i];
        if (distance < least) {
            best = i;
            least = distance;
        }
    }
    return best;
}

/* The value with the largest magnitude becomes -127. */
void inlay_quantize_iq4_nl(const unsigned char *from, unsigned char *block)
{
    static const signed char values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    const uint16_t half = to_half(extreme_of(from) / -127);
    const double d = half_value(half);
    unsigned char q[BLOCK];
    put_half(block, 0, half);
    for (size_t i = 0; i < BLOCK; i++)
        q[i] = d == 0 ? 0 : nearest_of(values, value_at(from, i) / d);
    put_halves(block + 2, q);
}

/* Twice the values of 4-bit floats (E2M1). */
static const signed char twice_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* As ggml's quantize_row_mxfp4_ref: the power of two below the largest magnitude becomes 4, so that values beyond 6
   become 6. */
void inlay_quantize_mxfp4(const unsigned char *from, unsigned char *block)
{
    const double magnitude = magnitude_of(range_of(from, 0, BLOCK));
    int e = (int)(inlay_bits_f64(magnitude) >> 52) - 1023 - 2 + 127;
    e = e < 0 ? 0 : e;
    const double inverse = inlay_f64_of_bits((uint64_t)(1023 + 128 - e) << 52);
    unsigned char q[BLOCK];
    block[0] = (unsigned char)e;
    for (size_t i = 0; i < BLOCK; i++)
        q[i] = nearest_of(twice_e2m1, value_at(from, i) * inverse);
    put_halves(block + 1, q);
}

void inlay_quantize_nvfp4(const unsigned char *from, unsigned char *block)
{
    enum { SCALES = 4, COLUMNS = 16 };
    for (size_t s = 0; s < SCALES; s++) {
        const size_t begin = s * COLUMNS;
        const unsigned char scale = inlay_e4m3_of(magnitude_of(range_of(from, begin, COLUMNS)) / 6);
        const double half = inlay_e4m3_value(scale) / 2;
        unsigned char *to = block + SCALES + s * COLUMNS / 2, q[COLUMNS];
        block[s] = scale;
        for (size_t i = 0; i < COLUMNS; i++)
            q[i] = half == 0 ? 0 : nearest_of(twice_e2m1, value_at(from, begin + i) / half);
        for (size_t i = 0; i < COLUMNS / 2; i++)
            to[i] = (unsigned char)(q[i] | q[i + COLUMNS / 2] << 4);
    }
}

/* ---- Superblocks ------------------------------------------------------------------------------------------------ */

/* Returns the smallest float16 that is no less than x >= 0. */
static uint16_t half_at_least(double x)
{
    const uint16_t half = to_half(x);
    return half_value(half) < x ? (uint16_t)(half + 1) : half;
}

/* Returns the smallest number of units that is no less than x, which is at most `most`; 0 if the unit is 0. */
static unsigned units_of(double x, double unit, unsigned most)
{
    if (unit == 0)
        return 0;
    const double units = nearest(x / unit);
    return (unsigned)clamped(units < x / unit ? units + 1 : units, 0, most);
}

/* Returns the number of a value by its step; 0 if the step is 0. */
static int number_by_step(double x, double step, int least, int most)
{
    return step == 0 ? 0 : (int)clamped(nearest(x / step), least, most);
}

/* Finds the numbers of a superblock from -`most` to `most`, of `parts` parts of 16 columns, each with a scale of up to
   `units` units. Returns the unit. */
static uint16_t quantize_symmetric(const unsigned char *from, int most, unsigned units, unsigned scales[16],
                                   int q[SUPERBLOCK])
{
    enum { COLUMNS = 16 };
    const double largest = magnitude_of(range_of(from, 0, SUPERBLOCK));
    const uint16_t half = half_at_least(largest / most / units);
    const double unit = half_value(half);
    for (size_t s = 0; s < SUPERBLOCK / COLUMNS; s++) {
        const size_t begin = s * COLUMNS;
        scales[s] = units_of(magnitude_of(range_of(from, begin, COLUMNS)) / most, unit, units);
        for (size_t i = begin; i < begin + COLUMNS; i++)
            q[i] = number_by_step(value_at(from, i), unit * scales[s], -most, most);
    }
    return half;
}

void inlay_quantize_q3_k(const unsigned char *from, unsigned char *hmask)
{
    unsigned scales[16];
    int q[SUPERBLOCK];
    unsigned char *qs = hmask + 32, *packed = hmask + 96;
    memset(hmask, 0, 110);
    put_half(hmask + 108, 0, quantize_symmetric(from, 3, 31, scales, q));
    for (size_t s = 0; s < 16; s++) {
        const unsigned scale = scales[s] + 32;
        packed[s % 8] = (unsigned char)(packed[s % 8] | (scale & 15) << s / 8 * 4);
        packed[8 + s % 4] = (unsigned char)(packed[8 + s % 4] | scale >> 4 << s / 4 * 2);
    }
    for (size_t i = 0; i < SUPERBLOCK; i++) {
        const unsigned number = (unsigned)(q[i] + 4);
        unsigned char *low = qs + i / 128 * 32 + i % 32, *high = hmask + i % 32;
        *low = (unsigned char)(*low | (number & 3) << i % 128 / 32 * 2);
        *high = (unsigned char)(*high | number >> 2 << i / 32);
    }
}

void inlay_quantize_q6_k(const unsigned char *from, unsigned char *ql)
{
    unsigned scales[16];
    int q[SUPERBLOCK];
    unsigned char *qh = ql + 128;
    memset(ql, 0, 210);
    put_half(ql + 208, 0, quantize_symmetric(from, 31, 127, scales, q));
    for (size_t s = 0; s < 16; s++)
        ql[192 + s] = (unsigned char)scales[s];
    for (size_t i = 0; i < SUPERBLOCK; i++) {
        const unsigned number = (unsigned)(q[i] + 32);
        unsigned char *low = ql + i / 128 * 64 + i % 64, *high = qh + i / 128 * 32 + i % 32;
        *low = (unsigned char)(*low | (number & 15) << i % 128 / 64 * 4);
        *high = (unsigned char)(*high | number >> 4 << i % 128 / 32 * 2);
    }
}

/* Writes the header of a block of INLAY_Q4_K or INLAY_Q5_K, and finds its numbers up to `most`. Minima are at most 0;
   both they and the steps are rounded away from 0, so that every value lies between the first number and the last. */
static void quantize_with_minima(const unsigned char *from, int most, unsigned char *header,
                                 unsigned char q[SUPERBLOCK])
{
    enum { BLOCKS = SUPERBLOCK / BLOCK, UNITS = 63 };
    struct range ranges[BLOCKS];
    double lowest = 0, widest = 0;
    for (size_t j = 0; j < BLOCKS; j++) {
        ranges[j] = range_of(from, j * BLOCK, BLOCK);
        lowest = ranges[j].least < lowest ? ranges[j].least : lowest;
    }
    const uint16_t least_half = half_at_least(-lowest / UNITS);
    const double least_unit = half_value(least_half);
    unsigned leasts[BLOCKS], scales[BLOCKS];
    for (size_t j = 0; j < BLOCKS; j++) {
        leasts[j] = ranges[j].least < 0 ? units_of(-ranges[j].least, least_unit, UNITS) : 0;
        const double width = ranges[j].most + leasts[j] * least_unit;
        widest = width > widest ? width : widest;
    }
    const uint16_t half = half_at_least(widest / most / UNITS);
    const double unit = half_value(half);
    for (size_t j = 0; j < BLOCKS; j++) {
        const double low = leasts[j] * least_unit;
        scales[j] = units_of((ranges[j].most + low) / most, unit, UNITS);
        for (size_t i = j * BLOCK; i < (j + 1) * BLOCK; i++)
            q[i] = (unsigned char)number_by_step(value_at(from, i) + low, unit * scales[j], 0, most);
    }
    put_half(header, 0, half);
    put_half(header, 1, least_half);
    for (size_t j = 0; j < BLOCKS / 2; j++) {
        header[4 + j] = (unsigned char)(scales[j] | scales[j + 4] >> 4 << 6);
        header[8 + j] = (unsigned char)(leasts[j] | leasts[j + 4] >> 4 << 6);
        header[12 + j] = (unsigned char)((scales[j + 4] & 15) | leasts[j + 4] << 4);
    }
}

/* Writes the lower halves of the numbers of a superblock: 32 bytes hold those of two blocks. */
static void put_pairs(unsigned char *to, const unsigned char q[SUPERBLOCK])
{
    for (size_t i = 0; i < SUPERBLOCK / 2; i++) {
        const unsigned char *low = q + i / 32 * 64 + i % 32;
        to[i] = (unsigned char)((low[0] & 15) | low[32] << 4);
    }
}

void inlay_quantize_q4_k(const unsigned char *from, unsigned char *block)
{
    unsigned char q[SUPERBLOCK];
    quantize_with_minima(from, 15, block, q);
    put_pairs(block + 16, q);
}

void inlay_quantize_q5_k(const unsigned char *from, unsigned char *block)
{
    unsigned char q[SUPERBLOCK];
    quantize_with_minima(from, 31, block, q);
    memset(block + 16, 0, 32);
    for (size_t i = 0; i < SUPERBLOCK; i++)
        block[16 + i % 32] = (unsigned char)(block[16 + i % 32] | q[i] >> 4 << i / 32);
    put_pairs(block + 48, q);
}
