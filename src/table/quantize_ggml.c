/* SPDX-License-Identifier: MIT */
/*
 * Conversion of floats to ggml's blocks. If ggml's reference derives the scales of a type from minima and maxima, the
 * bytes match. Scales of superblocks and IQ4_NL are searched for (search.c).
 */
#include "table/quantize.h"

enum { BLOCK = 32 };

/* Writes a scale as float16. Returns the reciprocal of the scale before rounding, which is used to choose numbers, or 0
   if it is rounded to 0. */
static float put_scale(unsigned char *to, float scale)
{
    const uint16_t half = to_half(scale);
    put_half(to, 0, half);
    return (half & INT16_MAX) != 0 ? 1 / scale : 0;
}

/* As ggml's quantize_row_q8_0_ref. */
static void quantize_q8_0(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    const float inverse = put_scale(block, (float)magnitude_of(range_of(from, 0, BLOCK)) / (float)type->largest);
    for (size_t i = 0; i < BLOCK; i++) {
        float scaled = (float)value_at(from, i) * inverse;
        /* Ties away from zero. */
        double q = (double)(int)((double)scaled + (scaled < 0 ? -0.5 : 0.5));
        block[2 + i] = (unsigned char)(signed char)clamped(q, -type->largest, type->largest);
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
static void quantize_signed(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    const float inverse = put_scale(block, extreme_of(from) / (float)-type->largest);
    put_block(block + 2, from, 0, inverse, (float)type->largest + 0.5f, 2 * type->largest - 1);
}

/* As ggml's quantize_row_q4_1_ref and _q5_1_ref: numbers count from the minimum. */
static void quantize_ranged(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    const struct range range = range_of(from, 0, BLOCK);
    const float least = (float)range.least;
    const float inverse = put_scale(block, ((float)range.most - least) / (float)type->largest);
    put_half(block, 1, to_half(least));
    put_block(block + 4, from, least, inverse, 0.5f, type->largest);
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

/* Twice the values of 4-bit floats (E2M1). */
static const signed char twice_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* As ggml's quantize_row_mxfp4_ref: the power of two of the largest magnitude becomes 4, that of the largest number, so
   values beyond 6 become 6. */
static void quantize_mxfp4(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    int e = exponent_of(magnitude_of(range_of(from, 0, BLOCK))) - exponent_of(type->largest) + 127;
    e = e < 0 ? 0 : e;
    block[0] = (unsigned char)e;
    put_nearest(block + 1, from, BLOCK, twice_e2m1, power_of_two(e - 128));
}

static void quantize_nvfp4(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    enum { SCALES = 4, COLUMNS = 16 };
    for (size_t s = 0; s < SCALES; s++, from += COLUMNS * sizeof(float)) {
        block[s] = inlay_e4m3_of(magnitude_of(range_of(from, 0, COLUMNS)) / type->largest);
        put_nearest(block + SCALES + s * COLUMNS / 2, from, COLUMNS, twice_e2m1, inlay_e4m3_value(block[s]) / 2);
    }
}

/* ---- Superblocks ------------------------------------------------------------------------------------------------ */

static void quantize_iq4_nl(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    const struct block_scales found = inlay_search_scales(type, from);
    put_half(block, 0, found.half);
    put_plane(block + 2, 4, BLOCK / 2, found.q, BLOCK, 0);
}

static void quantize_iq4_xs(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    const struct block_scales found = inlay_search_scales(type, from);
    unsigned char scales[SUPERBLOCK / BLOCK];
    for (size_t j = 0; j < SUPERBLOCK / BLOCK; j++)
        scales[j] = (unsigned char)(found.scales[j] + 32);
    put_half(block, 0, found.half);
    put_plane(block + 2, 2, 1, scales, sizeof scales, 4);
    put_plane(block + 4, 4, 1, scales, sizeof scales, 0);
    put_plane(block + 8, 4, BLOCK / 2, found.q, SUPERBLOCK, 0);
}

static void quantize_q2_k(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    const struct block_scales found = inlay_search_scales(type, from);
    for (size_t j = 0; j < PARTS; j++)
        block[j] = (unsigned char)(found.scales[j] | found.mins[j] << 4);
    put_plane(block + 16, 2, 32, found.q, SUPERBLOCK, 0);
    put_half(block, 40, found.half);
    put_half(block, 41, found.min_half);
}

static void quantize_q3_k(const unsigned char *from, const struct block_type *type, unsigned char *hmask)
{
    const struct block_scales found = inlay_search_scales(type, from);
    unsigned char scales[PARTS];
    for (size_t j = 0; j < PARTS; j++)
        scales[j] = (unsigned char)(found.scales[j] + 32);
    put_plane(hmask, 1, 32, found.q, SUPERBLOCK, 2);
    put_plane(hmask + 32, 2, 32, found.q, SUPERBLOCK, 0);
    put_plane(hmask + 96, 4, 8, scales, PARTS, 0);
    put_plane(hmask + 104, 2, 4, scales, PARTS, 4);
    put_half(hmask + 108, 0, found.half);
}

static void quantize_q4_or_q5_k(const unsigned char *from, const struct block_type *type, unsigned char *header)
{
    const struct block_scales found = inlay_search_scales(type, from);
    const int *scales = found.scales, *mins = found.mins;
    const bool fifths = type->largest > 15;
    unsigned char *numbers = header + 16;
    put_half(header, 0, found.half);
    put_half(header, 1, found.min_half);
    for (size_t j = 0; j < 4; j++) {
        header[4 + j] = (unsigned char)(scales[j] | scales[j + 4] >> 4 << 6);
        header[8 + j] = (unsigned char)(mins[j] | mins[j + 4] >> 4 << 6);
        header[12 + j] = (unsigned char)((scales[j + 4] & 15) | mins[j + 4] << 4);
    }
    if (fifths)
        put_plane(numbers, 1, 32, found.q, SUPERBLOCK, 4);
    put_plane(numbers + (fifths ? 32 : 0), 4, 32, found.q, SUPERBLOCK, 0);
}

static void quantize_q6_k(const unsigned char *from, const struct block_type *type, unsigned char *ql)
{
    const struct block_scales found = inlay_search_scales(type, from);
    put_plane(ql, 4, 64, found.q, SUPERBLOCK, 0);
    put_plane(ql + 128, 2, 32, found.q, SUPERBLOCK, 4);
    for (size_t j = 0; j < PARTS; j++)
        ql[192 + j] = (unsigned char)(signed char)found.scales[j];
    put_half(ql + 208, 0, found.half);
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

static void quantize_iq3_s(const unsigned char *from, const struct block_type *type, unsigned char *block)
{
    unsigned char *qs = block + 2, *qh = block + 66, *signs = block + 74, *scales = block + 106;
    const uint16_t half = half_at_least(magnitude_of(range_of(from, 0, SUPERBLOCK)) / type->largest / 31);
    const double unit = half_value(half);
    memset(block, 0, 110);
    put_half(block, 0, half);
    for (size_t i = 0; i < SUPERBLOCK; i += 4) {
        const size_t j = i / BLOCK;
        /* The scale is the smallest odd number of units by which no value exceeds `type->largest`. */
        const double step = magnitude_of(range_of(from, j * BLOCK, BLOCK)) / type->largest;
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

/* The values of INLAY_IQ4_NL and INLAY_IQ4_XS. */
static const signed char iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

const struct block_type inlay_block_types[INLAY_ELEMENT_TYPES] = {
    [INLAY_Q8_0] = {.block = quantize_q8_0, .largest = 127, .limit = BITS_F16},
    [INLAY_Q4_0] = {.block = quantize_signed, .largest = 8, .limit = BITS_F16},
    [INLAY_Q4_1] = {.block = quantize_ranged, .largest = 15, .limit = BITS_F16},
    [INLAY_Q5_0] = {.block = quantize_signed, .largest = 16, .limit = BITS_F16},
    [INLAY_Q5_1] = {.block = quantize_ranged, .largest = 31, .limit = BITS_F16},
    [INLAY_IQ4_NL] = {.block = quantize_iq4_nl,
                      .largest = 127,
                      .limit = BITS_F16,
                      .bound = 14,
                      .parts = 1,
                      .units = 1,
                      .values = iq4_levels},
    [INLAY_MXFP4] = {.block = quantize_mxfp4, .largest = 6, .limit = BITS_STEPS},
    [INLAY_NVFP4] = {.block = quantize_nvfp4, .largest = 6, .limit = BITS_2688},
    [INLAY_Q3_K] = {.block = quantize_q3_k, .largest = 3, .limit = BITS_F16, .bound = 0.64, .parts = 16, .units = 31},
    [INLAY_Q4_K] = {.block = quantize_q4_or_q5_k,
                    .largest = 15,
                    .limit = BITS_F16,
                    .bound = 0.51,
                    .parts = 8,
                    .units = 63,
                    .minima = true},
    [INLAY_Q5_K] = {.block = quantize_q4_or_q5_k,
                    .largest = 31,
                    .limit = BITS_F16,
                    .bound = 0.51,
                    .parts = 8,
                    .units = 63,
                    .minima = true},
    [INLAY_Q6_K] = {.block = quantize_q6_k, .largest = 31, .limit = BITS_F16, .bound = 0.51, .parts = 16, .units = 127},
    [INLAY_Q2_K] = {.block = quantize_q2_k,
                    .largest = 3,
                    .limit = BITS_F16,
                    .bound = 0.53,
                    .parts = 16,
                    .units = 15,
                    .minima = true},
    [INLAY_IQ4_XS] = {.block = quantize_iq4_xs,
                      .largest = 127,
                      .limit = BITS_F16,
                      .bound = 14,
                      .parts = 8,
                      .units = 31,
                      .values = iq4_levels},
    [INLAY_IQ3_S] = {.block = quantize_iq3_s, .largest = 15, .limit = BITS_F16},
};
