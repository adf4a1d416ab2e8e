/* SPDX-License-Identifier: MIT */
/*
 * Reference implementation of every kernel, written from its formula: the fallback on CPUs without a SIMD kernel, and
 * the oracle that tests the SIMD kernels. It shares no code with simd/. Order of trust: MPFR and golden values, then
 * this file, then SIMD.
 */
#include "dispatch/kernels.h"
#include "base/bits.h"

#include <string.h>

static unsigned load_u16(const unsigned char *from)
{
    return from[0] | (unsigned)from[1] << 8;
}

/* Decodes a binary16 (float16) by definition: sign * significand * 2^(exponent - 25), exact in float32. */
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

/* Returns bit i of an array of bytes. */
static unsigned bit_of(const unsigned char *bytes, size_t i)
{
    return bytes[i / 8] >> i % 8 & 1u;
}

/* Returns 4-bit number i of an array, the lower half of each byte first. */
static unsigned nibble(const unsigned char *bytes, size_t i)
{
    return i % 2 == 0 ? bytes[i / 2] % 16u : bytes[i / 2] / 16u;
}

/* Returns number i of an array of a grouped type's numbers or zero points. */
static float number_grouped(inlay_element_type type, const unsigned char *from, size_t i)
{
    if (type == INLAY_I8_GROUPED)
        return as_signed(from[i]);
    return type == INLAY_U8_GROUPED ? (float)from[i] : (float)nibble(from, i);
}

/* Returns a number times a float16 scale plus a float16 bias. */
static float value_rowwise(unsigned q, const unsigned char *scales)
{
    return (float)q * f16(load_u16(scales)) + f16(load_u16(scales + 2));
}

/* Returns a value of a grouped type: (number - zero) * scale. */
static float value_grouped(const struct inlay_embed_tile *tile, size_t i, size_t column, float zero)
{
    size_t group = column / tile->group;
    if (tile->zeros != NULL)
        zero = number_grouped(tile->type, tile->zeros[i], tile->zero_at[i] + group);
    return (number_grouped(tile->type, tile->rows[i], column) - zero) * inlay_load_f32(tile->scales[i], group);
}

/* Returns the value of a column of MLX's affine types: its `bits` bits, lowest first, times scale plus bias. */
static float value_affine(const struct inlay_embed_tile *tile, size_t i, size_t column, size_t bits)
{
    const size_t group = column / tile->group;
    unsigned q = 0;
    for (size_t k = 0; k < bits; k++)
        q |= bit_of(tile->rows[i], column * bits + k) << k;
    return (float)q * inlay_load_f32(tile->scales[i], 2 * group) + inlay_load_f32(tile->scales[i], 2 * group + 1);
}

/* Returns 4-bit number i of 32 in 16 bytes: the lower halves of the bytes, then their upper halves. */
static unsigned nibble_of_halves(const unsigned char *bytes, size_t i)
{
    return i < 16 ? bytes[i] % 16u : bytes[i - 16] / 16u;
}

/* Decodes an E4M3 by definition: sign * significand * 2^(exponent - 10). */
static float e4m3(unsigned bits)
{
    const unsigned sign = bits >> 7, exponent = bits >> 3 & 15, fraction = bits & 7;
    if ((bits & 127) == 127)
        return inlay_f32_of_bits((uint32_t)sign << 31 | 0x7fc00000);
    const unsigned least = exponent > 0 ? exponent : 1;
    float significand = (float)(exponent > 0 ? 8 + fraction : fraction);
    float magnitude = significand * inlay_f32_of_bits((uint32_t)(127 + least - 10) << 23);
    return sign ? -magnitude : magnitude;
}

/* Returns 2^(e - 127), which is subnormal for e = 0; 255 is NaN. */
static float e8m0(unsigned e)
{
    return inlay_f32_of_bits(e == 0 ? UINT32_C(1) << 22 : e == 255 ? 0x7fc00000 : (uint32_t)e << 23);
}

/* Returns the 5-bit number of column i: a 4-bit number plus its fifth bit. */
static float q5(const unsigned char *bits, const unsigned char *halves, size_t i)
{
    return (float)(nibble_of_halves(halves, i) + 16 * bit_of(bits, i));
}

static float iq4_nl(unsigned q)
{
    static const signed char values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    return values[q];
}

/* Returns twice the value of an E2M1 (4-bit float), with 0 for -0. */
static float e2m1(unsigned q)
{
    static const unsigned char magnitudes[8] = {0, 1, 2, 3, 4, 6, 8, 12};
    return (float)(q < 8 ? magnitudes[q] : -magnitudes[q - 8]);
}

/* Returns column i of a 64-column block. */
static float value_nvfp4(const unsigned char *block, size_t i)
{
    const unsigned scale = block[i / 16], byte = block[4 + i / 16 * 8 + i % 8];
    /* Bit 7 is ignored, but only 127 is 0, not 255; there is no NaN. */
    const float half = scale == 127 ? 0 : scale == 255 ? 240 : e4m3(scale % 128) / 2;
    return e2m1(i % 16 < 8 ? byte % 16 : byte / 16) * half;
}

/* Blocks of 256 columns. Fields are named as in ggml. */
static float value_q3_k(const unsigned char *hmask, size_t i)
{
    const unsigned char *qs = hmask + 32, *scales = hmask + 96;
    const size_t half = i / 128, k = i % 128 / 32, l = i % 32, s = i / 16;
    const int q = (int)(qs[32 * half + l] >> 2 * k & 3) - (bit_of(hmask + l, 4 * half + k) ? 0 : 4);
    const unsigned low = s < 8 ? scales[s] % 16u : scales[s - 8] / 16u, high = scales[8 + s % 4] >> 2 * (s / 4) & 3;
    return f16(load_u16(hmask + 108)) * (float)((int)(low + 16 * high) - 32) * (float)q;
}

/* Returns q times its scale minus its minimum. The `header` is two float16 and 12 bytes of 6-bit numbers. */
static float value_q4_or_q5_k(const unsigned char *header, size_t i, unsigned q)
{
    const unsigned char *b = header + 4;
    const size_t j = i / 32;
    unsigned scale, least;
    if (j < 4) {
        scale = b[j] % 64u;
        least = b[j + 4] % 64u;
    } else {
        scale = b[j + 4] % 16u + 16 * (b[j - 4] / 64u);
        least = b[j + 4] / 16u + 16 * (b[j] / 64u);
    }
    const float factor = f16(load_u16(header)) * (float)scale, bias = f16(load_u16(header + 2)) * (float)least;
    const float product = factor * (float)q;
    return product - bias;
}

/* Returns the 4-bit number of column i of 256. Each 32 bytes hold 64 columns: the lower halves, then the upper ones. */
static unsigned nibble_of_pairs(const unsigned char *bytes, size_t i)
{
    const unsigned byte = bytes[i / 64 * 32 + i % 32];
    return i % 64 < 32 ? byte % 16 : byte / 16;
}

static float value_q6_k(const unsigned char *ql, size_t i)
{
    const unsigned char *qh = ql + 128, *scales = ql + 192;
    const size_t half = i / 128, k = i % 128 / 32, l = i % 32;
    const unsigned byte = ql[64 * half + 32 * (k % 2) + l], low = k < 2 ? byte % 16 : byte / 16;
    const int q = (int)(low + 16 * (qh[32 * half + l] >> 2 * k & 3)) - 32;
    return f16(load_u16(ql + 208)) * as_signed(scales[i / 16]) * (float)q;
}

static float value_q2_k(const unsigned char *scales, size_t i)
{
    const unsigned q = scales[16 + 32 * (i / 128) + i % 32] >> i % 128 / 32 * 2 & 3, scale = scales[i / 16];
    const float factor = f16(load_u16(scales + 80)) * (float)(scale % 16);
    const float bias = f16(load_u16(scales + 82)) * (float)(scale / 16);
    const float product = factor * (float)q;
    return product - bias;
}

static float value_iq4_xs(const unsigned char *block, size_t i)
{
    const size_t j = i / 32;
    const unsigned scale = nibble(block + 4, j) + 16 * (load_u16(block + 2) >> 2 * j & 3);
    return f16(load_u16(block)) * (float)((int)scale - 32) * iq4_nl(nibble_of_halves(block + 8 + 16 * j, i % 32));
}

static float value_iq3_s(const unsigned char *block, size_t i)
{
    static const uint16_t grid[512] = {
#include "base/iq3_s.inc"
    };
    const unsigned char *qs = block + 2, *qh = block + 66, *signs = block + 74, *scales = block + 106;
    const unsigned four = grid[qs[i / 4] + 256 * bit_of(qh, i / 4)], digit = four >> 3 * (i % 4) & 7;
    const float magnitude = (float)(2 * digit + 1), scale = (float)(2 * nibble(scales, i / 32) + 1);
    return f16(load_u16(block)) * scale * (bit_of(signs, i) ? -magnitude : magnitude);
}

/* Returns the value of a column of row i, as documented at inlay_element_type. */
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
    case INLAY_U8_ROWWISE_FIRST:
        return value_rowwise(row[column], scales);
    case INLAY_U4_ROWWISE:
    case INLAY_U4_ROWWISE_FIRST:
        return value_rowwise(nibble(row, column), scales);
    case INLAY_U2_ROWWISE:
    case INLAY_U2_ROWWISE_FIRST:
        return value_rowwise(row[column / 4] >> column % 4 * 2 & 3u, scales);
    case INLAY_U4_GROUPED:
        return value_grouped(tile, i, column, 8);
    case INLAY_U4_GROUPED_FLAT:
    case INLAY_I8_GROUPED:
        return value_grouped(tile, i, column, 0);
    case INLAY_U8_GROUPED:
        return value_grouped(tile, i, column, 128);
    case INLAY_E2M1_F32:
        return e2m1(nibble(row, column)) / 2 * inlay_load_f32(scales, column / 16);
    case INLAY_Q8_0:
        row += column / 32 * 34;
        return as_signed(row[2 + column % 32]) * f16(load_u16(row));
    case INLAY_Q4_0:
        row += column / 32 * 18;
        return ((float)nibble_of_halves(row + 2, column % 32) - 8) * f16(load_u16(row));
    case INLAY_E4M3:
        return e4m3(row[column]) * inlay_load_f32(scales, 0);
    case INLAY_E4M3_E8M0:
        return e4m3(row[column]) * e8m0(scales[column / 32]);
    case INLAY_Q4_1:
        row += column / 32 * 20;
        return (float)nibble_of_halves(row + 4, column % 32) * f16(load_u16(row)) + f16(load_u16(row + 2));
    case INLAY_Q5_0:
        row += column / 32 * 22;
        return (q5(row + 2, row + 6, column % 32) - 16) * f16(load_u16(row));
    case INLAY_Q5_1:
        row += column / 32 * 24;
        return q5(row + 4, row + 8, column % 32) * f16(load_u16(row)) + f16(load_u16(row + 2));
    case INLAY_IQ4_NL:
        row += column / 32 * 18;
        return iq4_nl(nibble_of_halves(row + 2, column % 32)) * f16(load_u16(row));
    case INLAY_MXFP4:
        row += column / 32 * 17;
        /* 2^(e - 128) is exact, also for e = 255. */
        return e2m1(nibble_of_halves(row + 1, column % 32)) * (row[0] == 255 ? 0x1p127f : e8m0(row[0]) / 2);
    case INLAY_NVFP4:
        return value_nvfp4(row + column / 64 * 36, column % 64);
    case INLAY_Q3_K:
        return value_q3_k(row + column / 256 * 110, column % 256);
    case INLAY_Q4_K:
        row += column / 256 * 144;
        return value_q4_or_q5_k(row, column % 256, nibble_of_pairs(row + 16, column % 256));
    case INLAY_Q5_K:
        row += column / 256 * 176;
        return value_q4_or_q5_k(row, column % 256,
                                nibble_of_pairs(row + 48, column % 256) +
                                    16 * bit_of(row + 16 + column % 32, column % 256 / 32));
    case INLAY_Q6_K:
        return value_q6_k(row + column / 256 * 210, column % 256);
    case INLAY_Q2_K:
        return value_q2_k(row + column / 256 * 84, column % 256);
    case INLAY_IQ4_XS:
        return value_iq4_xs(row + column / 256 * 136, column % 256);
    case INLAY_IQ3_S:
        return value_iq3_s(row + column / 256 * 110, column % 256);
    case INLAY_U2_AFFINE:
        return value_affine(tile, i, column, 2);
    case INLAY_U3_AFFINE:
        return value_affine(tile, i, column, 3);
    case INLAY_U4_AFFINE:
        return value_affine(tile, i, column, 4);
    case INLAY_U5_AFFINE:
        return value_affine(tile, i, column, 5);
    case INLAY_U6_AFFINE:
        return value_affine(tile, i, column, 6);
    case INLAY_U8_AFFINE:
        return value_affine(tile, i, column, 8);
    default:
        return inlay_load_f32(row, column);
    }
}

/* Rounds a float to a 16-bit format with `fraction_bits` and exponent bias `bias`, to nearest even. The value must be a
   result of arithmetic: its NaNs are quiet, and the quiet bit isn't shifted out. */
static uint16_t narrow(float value, unsigned fraction_bits, int bias)
{
    const uint32_t bits = inlay_bits_f32(value), sign = bits >> 31 << 15, magnitude = bits & 0x7fffffff,
                   fraction = bits & 0x7fffff;
    const uint32_t infinity = (uint32_t)(2 * bias + 1) << fraction_bits;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | infinity | fraction >> (23 - fraction_bits));
    /* The value is significand * 2^(exponent - 23). */
    bool subnormal = magnitude < 0x800000;
    int exponent = subnormal ? -126 : (int)(magnitude >> 23) - 127;
    uint32_t significand = subnormal ? fraction : fraction | 0x800000;
    /* The exponent of the result's binade. All subnormal results share the binade of the smallest normal numbers. */
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

/* Stores element `column` of a float32, float16 or bfloat16 row. */
static void store_as(inlay_element_type type, unsigned char *row, size_t column, float value)
{
    if (type == INLAY_F32) {
        inlay_store_f32(row, column, value);
    } else {
        const uint16_t bits = type == INLAY_F16 ? narrow(value, 10, 15) : narrow(value, 7, 127);
        memcpy(row + column * sizeof bits, &bits, sizeof bits);
    }
}

/* The tile is copied because any store could alias the caller's. */
static void embed_scalar(const struct inlay_embed_tile *callers)
{
    const struct inlay_embed_tile tile = *callers;
    for (size_t i = 0; i < tile.count; i++) {
        if (tile.type == tile.out_type && tile.scale == 1 && tile.positions == NULL) {
            memmove(tile.out[i], tile.rows[i], tile.columns * (tile.type == INLAY_F32 ? sizeof(float) : 2));
            continue;
        }
        for (size_t column = 0; column < tile.columns; column++) {
            float value = value_of(&tile, i, column) * tile.scale;
            if (tile.positions != NULL)
                value = value + inlay_load_f32(tile.positions[i], column);
            if (tile.segments != NULL)
                value = value + inlay_load_f32(tile.segments[i], column);
            store_as(tile.out_type, tile.out[i], column, value);
        }
    }
}

/* Marks all entries undecided, so the integer path (positions/exact.c) computes them. No approximation, no state. */
static bool sinusoid_rows_scalar(const struct inlay_sinusoid_tile *tile)
{
    size_t groups = inlay_padded(tile->pairs) / INLAY_PAIR_GROUP;
    memset(tile->undecided, 0xff, tile->rows * groups * sizeof *tile->undecided);
    return true;
}

/*
 * Returns the correctly rounded square root, digit by digit. Results must not depend on the C library's sqrt, which
 * compilers would call. x must not be subnormal. A root is never halfway between two doubles.
 */
static double square_root(double x)
{
    const uint64_t bits = inlay_bits_f64(x);
    if (x < 0)
        return __builtin_nan("");
    if (x == 0 || bits >= UINT64_C(0x7ff0000000000000))
        return x;
    /* x = significand / 2^52 * 2^exponent with an even exponent, so significand / 2^52 is in [1, 4). */
    int exponent = (int)(bits >> 52) - 1023;
    uint64_t significand = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    if (exponent % 2 != 0) {
        significand <<= 1;
        exponent--;
    }
    /* Every two binary digits of the significand give one of the root's 53 digits. */
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
    root += rest > root; /* above root + 1/2 */
    return (double)root * inlay_f64_of_bits((uint64_t)(exponent / 2 - 52 + 1023) << 52);
}

/* Returns the sum of a row's columns, or of their squared distances from the mean. */
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
        double mean = 0, squares = sum_of(row, tile->columns, true, 0), variance = squares / columns;
        if (tile->norm == INLAY_NORM_LAYER) {
            mean = sum_of(row, tile->columns, false, 0) / columns;
            variance = variance - mean * mean;
            if (variance < mean * mean * INLAY_NORM_CANCELED)
                variance = sum_of(row, tile->columns, true, mean) / columns;
        }
        double factor = 1 / square_root(variance + (double)tile->epsilon);
        if (tile->norm == INLAY_NORM_L2) {
            const double length = square_root(squares), least = (double)tile->epsilon;
            factor = 1 / (length < least ? least : length);
        }
        for (size_t column = 0; column < tile->columns; column++) {
            const float x = inlay_load_f32(row, column);
            const float gamma = tile->gamma != NULL ? inlay_load_f32(tile->gamma, column) : 1;
            float value;
            if (factor >= INLAY_NORM_MIN_FACTOR && factor <= INLAY_NORM_MAX_FACTOR) {
                const float high = (float)mean, low = (float)(mean - (double)high);
                value = (tile->norm == INLAY_NORM_LAYER ? (x - high) - low : x) * (float)factor * gamma;
                if (tile->beta != NULL)
                    value = value + inlay_load_f32(tile->beta, column);
            } else {
                double wide = ((double)x - mean) * factor * (double)gamma;
                if (tile->beta != NULL)
                    wide = wide + (double)inlay_load_f32(tile->beta, column);
                value = (float)wide;
            }
            inlay_store_f32(tile->out[i], column, value);
        }
    }
}

/* Loads element `column` of a float32, float16 or bfloat16 row. */
static float load_as(inlay_element_type type, const unsigned char *row, size_t column)
{
    if (type == INLAY_F32)
        return inlay_load_f32(row, column);
    const unsigned bits = load_u16(row + 2 * column);
    return type == INLAY_F16 ? f16(bits) : inlay_f32_of_bits((uint32_t)bits << 16);
}

/* Rotates one head. `angles` has the cosines, then the sines. */
static void rotate_head(const struct inlay_rotary_tile *tile, const unsigned char *angles, inlay_element_type type,
                        const unsigned char *in, unsigned char *out)
{
    for (size_t i = 0; i < tile->pairs; i++) {
        const size_t first = tile->interleaved ? 2 * i : i, second = tile->interleaved ? 2 * i + 1 : tile->pairs + i;
        const float cosine = inlay_load_f32(angles, i), sine = inlay_load_f32(angles, tile->pairs + i);
        const float turn = tile->inverse ? -sine : sine;
        const float x = load_as(type, in, first), y = load_as(type, in, second);
        const float x_cos = x * cosine, x_sin = x * turn, y_cos = y * cosine, y_sin = y * turn;
        store_as(type, out, first, x_cos - y_sin);
        store_as(type, out, second, y_cos + x_sin);
    }
}

static void rotate_scalar(const struct inlay_rotary_tile *tile)
{
    for (size_t t = 0; t < tile->tokens; t++)
        for (size_t k = 0; k < tile->count; k++) {
            const struct inlay_rotary_heads tensor = tile->tensors[k];
            const size_t element = tensor.type == INLAY_F32 ? sizeof(float) : 2, rotated = 2 * tile->pairs * element;
            for (size_t h = 0; h < tensor.heads; h++) {
                const unsigned char *in = tensor.in + t * tensor.in_token_bytes + h * tensor.in_head_bytes;
                unsigned char *out = tensor.out + t * tensor.out_token_bytes + h * tensor.out_head_bytes;
                rotate_head(tile, tile->angles[t], tensor.type, in, out);
                memmove(out + rotated, in + rotated, tensor.columns * element - rotated);
            }
        }
}

/* Returns the remainder with the sign of the modulus, like Python's %; C's has the sign of x. */
static uint64_t floor_modulo(int64_t x, int64_t modulus)
{
    const int64_t remainder = x % modulus;
    return (uint64_t)(remainder < 0 ? remainder + modulus : remainder);
}

static void ngram_rows_scalar(const struct inlay_ngram_tile *tile)
{
    for (size_t t = 0; t < tile->tokens; t++)
        for (size_t c = 0; c < tile->count; c++) {
            const inlay_ngram_column *column = &tile->columns[c];
            uint64_t sum = 0;
            for (size_t s = 0; s < column->length; s++) {
                const uint64_t word = tile->places[s][t];
                const uint64_t product = word * tile->multipliers[column->vector * tile->length + s];
                sum = tile->adds ? sum + product : sum ^ product;
            }
            tile->rows[c * tile->rows_stride + t] = column->offset + floor_modulo((int64_t)sum, column->modulus);
        }
}

const struct inlay_kernels inlay_kernels_scalar = {
    .name = "scalar",
    .embed = embed_scalar,
    .sinusoid_rows = sinusoid_rows_scalar,
    .norm = norm_scalar,
    .ngram_rows = ngram_rows_scalar,
    .rotate = rotate_scalar,
};
