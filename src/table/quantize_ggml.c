/* SPDX-License-Identifier: MIT */
/*
 * Conversion of floats to ggml's blocks. Scales are derived from minima and maxima. If ggml's reference does the same
 * for a type, the bytes match. For codebooks and superblocks it searches for scales, so they differ.
 */
#include "table/quantize.h"

enum { BLOCK = 32, SUPERBLOCK = 256 };

/* Writes a scale as float16. Returns the reciprocal of the scale before rounding, which is used to choose numbers, or 0
   if it is rounded to 0. */
static float put_scale(unsigned char *to, float scale)
{
    const uint16_t half = to_half(scale);
    put_half(to, 0, half);
    return (half & INT16_MAX) != 0 ? 1 / scale : 0;
}

/* As ggml's quantize_row_q8_0_ref. */
static void quantize_q8_0(const unsigned char *from, int largest, unsigned char *block)
{
    const float inverse = put_scale(block, (float)magnitude_of(range_of(from, 0, BLOCK)) / (float)largest);
    for (size_t i = 0; i < BLOCK; i++) {
        float scaled = (float)value_at(from, i) * inverse;
        /* Ties away from zero. */
        double q = (double)(int)((double)scaled + (scaled < 0 ? -0.5 : 0.5));
        block[2 + i] = (unsigned char)(signed char)clamped(q, -largest, largest);
    }
}

/* Writes `bits` bits of each of n numbers, starting at bit `from`. Every `bytes` bytes hold 8 / `bits` times as many
   numbers, the first ones in their lowest bits. */
static inline void put_plane(unsigned char *to, size_t bits, size_t bytes, const unsigned char *q, size_t n,
                             size_t from)
{
    const unsigned mask = (1U << bits) - 1;
    for (size_t first = 0; first < n; first += bytes * 8 / bits)
        for (size_t i = 0; i < bytes; i++) {
            unsigned byte = 0;
            for (size_t shift = 0; shift < 8; shift += bits)
                byte |= (q[first + shift / bits * bytes + i] >> from & mask) << shift;
            *to++ = (unsigned char)byte;
        }
}

/* Writes the numbers from 0 to `most` of a block: (x - least) * inverse + shift, truncated. Fifth bits come first, if
   there are any, then the lower halves, with columns i and i + 16 in byte i. */
static void put_block(unsigned char *to, const unsigned char *from, float least, float inverse, float shift, int most)
{
    unsigned char q[BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        const float scaled = (inlay_load_f32(from, i) - least) * inverse;
        q[i] = (unsigned char)clamped((double)(scaled + shift), 0, most);
    }
    const bool fifths = most > 15;
    if (fifths)
        put_plane(to, 1, 1, q, BLOCK, 4);
    put_plane(to + (fifths ? BLOCK / 8 : 0), 4, BLOCK / 2, q, BLOCK, 0);
}

/* Returns the value with the largest magnitude in a block, the first one if there are several. */
static float extreme_of(const unsigned char *from)
{
    float extreme = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        float x = inlay_load_f32(from, i);
        extreme = (x < 0 ? -x : x) > (extreme < 0 ? -extreme : extreme) ? x : extreme;
    }
    return extreme;
}

/* As ggml's quantize_row_q4_0_ref and _q5_0_ref: the value with the largest magnitude becomes -largest, whatever its
   sign, and numbers are stored with `largest` added. */
static void quantize_signed(const unsigned char *from, int largest, unsigned char *block)
{
    const float inverse = put_scale(block, extreme_of(from) / (float)-largest);
    put_block(block + 2, from, 0, inverse, (float)largest + 0.5f, 2 * largest - 1);
}

/* As ggml's quantize_row_q4_1_ref and _q5_1_ref: numbers count from the minimum. */
static void quantize_ranged(const unsigned char *from, int largest, unsigned char *block)
{
    const struct range range = range_of(from, 0, BLOCK);
    const float least = (float)range.least;
    const float inverse = put_scale(block, ((float)range.most - least) / (float)largest);
    put_half(block, 1, to_half(least));
    put_block(block + 4, from, least, inverse, 0.5f, largest);
}

/* ---- Codebooks -------------------------------------------------------------------------------------------------- */

/* Returns the index of the value nearest to x, the first one of two. */
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

/* Writes the numbers of n <= 32 columns, given the step of the values; 0 if the step is 0. Byte i holds columns i and
   i + n / 2. */
static void put_nearest(unsigned char *to, const unsigned char *from, size_t n, const signed char values[16],
                        double step)
{
    unsigned char q[BLOCK];
    for (size_t i = 0; i < n; i++)
        q[i] = step == 0 ? 0 : nearest_of(values, value_at(from, i) / step);
    put_plane(to, 4, n / 2, q, n, 0);
}

/* The values of INLAY_IQ4_NL and INLAY_IQ4_XS. The one with the largest magnitude becomes -127. */
static const signed char iq4_nl_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void quantize_iq4_nl(const unsigned char *from, int largest, unsigned char *block)
{
    const uint16_t half = to_half(extreme_of(from) / (float)-largest);
    put_half(block, 0, half);
    put_nearest(block + 2, from, BLOCK, iq4_nl_values, half_value(half));
}

/* Twice the values of 4-bit floats (E2M1). */
static const signed char twice_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* As ggml's quantize_row_mxfp4_ref: the power of two of the largest magnitude becomes 4, that of the largest number, so
   values beyond 6 become 6. */
static void quantize_mxfp4(const unsigned char *from, int largest, unsigned char *block)
{
    int e = exponent_of(magnitude_of(range_of(from, 0, BLOCK))) - exponent_of(largest) + 127;
    e = e < 0 ? 0 : e;
    block[0] = (unsigned char)e;
    put_nearest(block + 1, from, BLOCK, twice_e2m1, power_of_two(e - 128));
}

static void quantize_nvfp4(const unsigned char *from, int largest, unsigned char *block)
{
    enum { SCALES = 4, COLUMNS = 16 };
    for (size_t s = 0; s < SCALES; s++, from += COLUMNS * sizeof(float)) {
        block[s] = inlay_e4m3_of(magnitude_of(range_of(from, 0, COLUMNS)) / largest);
        put_nearest(block + SCALES + s * COLUMNS / 2, from, COLUMNS, twice_e2m1, inlay_e4m3_value(block[s]) / 2);
    }
}

/* ---- Superblocks ------------------------------------------------------------------------------------------------ */

/* Returns the smallest float16 >= x, for x >= 0. */
static uint16_t half_at_least(double x)
{
    const uint16_t half = to_half(x);
    return half_value(half) < x ? (uint16_t)(half + 1) : half;
}

/* Returns the smallest number of units that is at least x, clamped to `most`; 0 if the unit is 0. */
static unsigned units_of(double x, double unit, unsigned most)
{
    if (unit == 0)
        return 0;
    const double units = nearest(x / unit);
    return (unsigned)clamped(units < x / unit ? units + 1 : units, 0, most);
}

/* Returns a value divided by its step, rounded and clamped; 0 if the step is 0. */
static int number_by_step(double x, double step, int least, int most)
{
    return step == 0 ? 0 : (int)clamped(nearest(x / step), least, most);
}

/* Computes the numbers of a superblock, from -`most` to `most`, plus `most` + 1. Each 16 columns have a scale of up to
   `units` units. Returns the unit. */
static uint16_t quantize_symmetric(const unsigned char *from, int most, unsigned units, unsigned char scales[16],
                                   unsigned char q[SUPERBLOCK])
{
    enum { COLUMNS = 16 };
    const double largest = magnitude_of(range_of(from, 0, SUPERBLOCK));
    const uint16_t half = half_at_least(largest / most / units);
    const double unit = half_value(half);
    for (size_t s = 0; s < SUPERBLOCK / COLUMNS; s++) {
        const size_t begin = s * COLUMNS;
        scales[s] = (unsigned char)units_of(magnitude_of(range_of(from, begin, COLUMNS)) / most, unit, units);
        for (size_t i = begin; i < begin + COLUMNS; i++)
            q[i] = (unsigned char)(number_by_step(value_at(from, i), unit * scales[s], -most, most) + most + 1);
    }
    return half;
}

static void quantize_q3_k(const unsigned char *from, int largest, unsigned char *hmask)
{
    unsigned char q[SUPERBLOCK], scales[16];
    put_half(hmask + 108, 0, quantize_symmetric(from, largest, 31, scales, q));
    for (size_t s = 0; s < 16; s++)
        scales[s] |= 32; /* the bias of stored scales, which are signed */
    put_plane(hmask, 1, 32, q, SUPERBLOCK, 2);
    put_plane(hmask + 32, 2, 32, q, SUPERBLOCK, 0);
    put_plane(hmask + 96, 4, 8, scales, 16, 0);
    put_plane(hmask + 104, 2, 4, scales, 16, 4);
}

static void quantize_q6_k(const unsigned char *from, int largest, unsigned char *ql)
{
    unsigned char q[SUPERBLOCK];
    put_half(ql + 208, 0, quantize_symmetric(from, largest, 127, ql + 192, q));
    put_plane(ql, 4, 64, q, SUPERBLOCK, 0);
    put_plane(ql + 128, 2, 32, q, SUPERBLOCK, 4);
}

/* The units shared by a superblock, and its scales and minima in units. */
struct shared {
    uint16_t half, min_half;
    unsigned scales[16], leasts[16];
};

/* Computes the numbers up to `most` of a superblock of parts of `columns` columns, with scales and minima of up to
   `units` units. Minima are at most 0. Minima and steps are rounded away from 0, so every value is between the first
   and the last number. */
static struct shared quantize_with_minima(const unsigned char *from, size_t columns, int most, unsigned units,
                                          unsigned char q[SUPERBLOCK])
{
    const size_t parts = SUPERBLOCK / columns;
    struct shared shared;
    struct range ranges[16];
    double lowest = 0, widest = 0;
    for (size_t j = 0; j < parts; j++) {
        ranges[j] = range_of(from, j * columns, columns);
        lowest = ranges[j].least < lowest ? ranges[j].least : lowest;
    }
    shared.min_half = half_at_least(-lowest / units);
    const double min_unit = half_value(shared.min_half);
    for (size_t j = 0; j < parts; j++) {
        shared.leasts[j] = ranges[j].least < 0 ? units_of(-ranges[j].least, min_unit, units) : 0;
        const double width = ranges[j].most + shared.leasts[j] * min_unit;
        widest = width > widest ? width : widest;
    }
    shared.half = half_at_least(widest / most / units);
    const double unit = half_value(shared.half);
    for (size_t j = 0; j < parts; j++) {
        const double low = shared.leasts[j] * min_unit;
        shared.scales[j] = units_of((ranges[j].most + low) / most, unit, units);
        for (size_t i = j * columns; i < (j + 1) * columns; i++)
            q[i] = (unsigned char)number_by_step(value_at(from, i) + low, unit * shared.scales[j], 0, most);
    }
    return shared;
}

static void quantize_q2_k(const unsigned char *from, int largest, unsigned char *block)
{
    unsigned char q[SUPERBLOCK];
    const struct shared shared = quantize_with_minima(from, 16, largest, 15, q);
    for (size_t s = 0; s < 16; s++)
        block[s] = (unsigned char)(shared.scales[s] | shared.leasts[s] << 4);
    put_plane(block + 16, 2, 32, q, SUPERBLOCK, 0);
    put_half(block, 40, shared.half);
    put_half(block, 41, shared.min_half);
}

static void quantize_q4_or_q5_k(const unsigned char *from, int largest, unsigned char *header)
{
    unsigned char q[SUPERBLOCK], *numbers = header + 16;
    const bool fifths = largest > 15;
    const struct shared shared = quantize_with_minima(from, BLOCK, largest, 63, q);
    const unsigned *scales = shared.scales, *leasts = shared.leasts;
    put_half(header, 0, shared.half);
    put_half(header, 1, shared.min_half);
    for (size_t j = 0; j < 4; j++) {
        header[4 + j] = (unsigned char)(scales[j] | scales[j + 4] >> 4 << 6);
        header[8 + j] = (unsigned char)(leasts[j] | leasts[j + 4] >> 4 << 6);
        header[12 + j] = (unsigned char)((scales[j + 4] & 15) | leasts[j + 4] << 4);
    }
    if (fifths)
        put_plane(numbers, 1, 32, q, SUPERBLOCK, 4);
    put_plane(numbers + (fifths ? 32 : 0), 4, 32, q, SUPERBLOCK, 0);
}

static void quantize_iq4_xs(const unsigned char *from, int largest, unsigned char *block)
{
    const uint16_t half = half_at_least(magnitude_of(range_of(from, 0, SUPERBLOCK)) / largest / 31);
    const double unit = half_value(half);
    unsigned char scales[SUPERBLOCK / BLOCK];
    for (size_t j = 0; j < SUPERBLOCK / BLOCK; j++) {
        const unsigned char *values = from + j * BLOCK * sizeof(float);
        const double extreme = (double)extreme_of(values) / -largest;
        const int units = (int)units_of(extreme < 0 ? -extreme : extreme, unit, 31),
                  scale = extreme < 0 ? -units : units;
        scales[j] = (unsigned char)(scale + 32);
        put_nearest(block + 8 + j * BLOCK / 2, values, BLOCK, iq4_nl_values, unit * scale);
    }
    put_half(block, 0, half);
    put_plane(block + 2, 2, 1, scales, sizeof scales, 4);
    put_plane(block + 4, 4, 1, scales, sizeof scales, 0);
}

/* Returns the number of the entry of the grid that is nearest to four magnitudes, by the sum of squares. */
static unsigned nearest_four(const double x[4])
{
    static const uint16_t grid[512] = {
#include "base/iq3_s.inc"
    };
    unsigned best = 0;
    double least = 1e300;
    for (unsigned i = 0; i < 512; i++) {
        double distance = 0;
        for (size_t k = 0; k < 4; k++) {
            const double error = x[k] - (2 * (grid[i] >> 3 * k & 7) + 1);
            distance += error * error;
        }
        if (distance < least) {
            best = i;
            least = distance;
        }
    }
    return best;
}

static void quantize_iq3_s(const unsigned char *from, int largest, unsigned char *block)
{
    unsigned char *qs = block + 2, *qh = block + 66, *signs = block + 74, *scales = block + 106;
    const uint16_t half = half_at_least(magnitude_of(range_of(from, 0, SUPERBLOCK)) / largest / 31);
    const double unit = half_value(half);
    memset(block, 0, 110);
    put_half(block, 0, half);
    for (size_t i = 0; i < SUPERBLOCK; i += 4) {
        const size_t j = i / BLOCK;
        /* The scale is the smallest odd number of units by which no value exceeds `largest`. */
        const double step = magnitude_of(range_of(from, j * BLOCK, BLOCK)) / largest;
        const unsigned scale = units_of((step - unit) / 2, unit, 15);
        double magnitudes[4];
        for (size_t k = 0; k < 4; k++) {
            const double x = value_at(from, i + k);
            magnitudes[k] = unit == 0 ? 0 : (x < 0 ? -x : x) / (unit * (2 * scale + 1));
            signs[i / 8] = (unsigned char)(signs[i / 8] | (x < 0) << (i + k) % 8);
        }
        const unsigned found = nearest_four(magnitudes);
        qs[i / 4] = (unsigned char)found;
        qh[j] = (unsigned char)(qh[j] | found >> 8 << i / 4 % 8);
        scales[j / 2] = (unsigned char)(scales[j / 2] | (i % BLOCK == 0 ? scale << j % 2 * 4 : 0));
    }
}

/* ---- The types -------------------------------------------------------------------------------------------------- */

const struct block_type inlay_block_types[INLAY_ELEMENT_TYPES] = {
    [INLAY_Q8_0] = {quantize_q8_0, 127, BITS_F16},      [INLAY_Q4_0] = {quantize_signed, 8, BITS_F16},
    [INLAY_Q4_1] = {quantize_ranged, 15, BITS_F16},     [INLAY_Q5_0] = {quantize_signed, 16, BITS_F16},
    [INLAY_Q5_1] = {quantize_ranged, 31, BITS_F16},     [INLAY_IQ4_NL] = {quantize_iq4_nl, 127, BITS_F16},
    [INLAY_MXFP4] = {quantize_mxfp4, 6, BITS_STEPS},    [INLAY_NVFP4] = {quantize_nvfp4, 6, BITS_2688},
    [INLAY_Q3_K] = {quantize_q3_k, 3, BITS_F16},        [INLAY_Q4_K] = {quantize_q4_or_q5_k, 15, BITS_F16},
    [INLAY_Q5_K] = {quantize_q4_or_q5_k, 31, BITS_F16}, [INLAY_Q6_K] = {quantize_q6_k, 31, BITS_F16},
    [INLAY_Q2_K] = {quantize_q2_k, 3, BITS_F16},        [INLAY_IQ4_XS] = {quantize_iq4_xs, 127, BITS_F16},
    [INLAY_IQ3_S] = {quantize_iq3_s, 15, BITS_F16},
};
