/* SPDX-License-Identifier: MIT */
/* Implements reference.h. Written to be compared with the public headers, not to be fast. */
#include "reference.h"

#include <math.h>
#include <string.h>

/* ---- Ids ---- */

size_t reference_id_bytes(inlay_id_type type)
{
    static const size_t bytes[] = {0, 4, 8, 1, 2, 2, 4};
    return bytes[type];
}

int64_t reference_id(const void *ids, inlay_id_type type, size_t i)
{
    size_t bytes = reference_id_bytes(type);
    bool is_signed = type == INLAY_ID_I16 || type == INLAY_ID_I32 || type == INLAY_ID_I64;
    const unsigned char *at = (const unsigned char *)ids + i * bytes;
    uint64_t id = is_signed && at[bytes - 1] >= 128 ? UINT64_MAX : 0;
    for (size_t byte = bytes; byte-- > 0;)
        id = id << 8 | at[byte];
    return (int64_t)id;
}

void reference_put_id(void *ids, inlay_id_type type, size_t i, int64_t value)
{
    memcpy((unsigned char *)ids + i * reference_id_bytes(type), &value, reference_id_bytes(type)); /* little-endian */
}

/* ---- Elements ---- */

static float f32_at(const void *data, size_t i)
{
    float value;
    memcpy(&value, (const unsigned char *)data + i * sizeof value, sizeof value);
    return value;
}

static float f16_at(const unsigned char *at)
{
    unsigned bits = at[0] | (unsigned)at[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexpf((float)(fraction + 1024), (int)exponent - 25) : ldexpf((float)fraction, -24));
}

static float bf16_at(const unsigned char *at)
{
    const unsigned char bytes[4] = {0, 0, at[0], at[1]};
    return f32_at(bytes, 0);
}

/* Returns element i of packed 4-bit integers, the lower half of a byte first. */
static int u4_at(const void *data, size_t i)
{
    return ((const unsigned char *)data)[i / 2] >> i % 2 * 4 & 15;
}

inlay_table reference_array(const inlay_table *table, size_t *row)
{
    inlay_table array = *table;
    size_t i = table->extent_count;
    while (i > 0 && table->extents[i - 1].first_row > *row)
        i--;
    if (i > 0) {
        const inlay_table_extent *extent = &table->extents[i - 1];
        array.data = extent->data;
        array.scales = extent->scales;
        array.zeros = extent->zeros;
        *row -= extent->first_row;
    }
    return array;
}

static size_t groups_in_row(const inlay_table *table)
{
    return (table->dim - 1) / table->group + 1;
}

/* Returns q * scale + bias of a float16 pair. */
static float pair_at(float q, const unsigned char *pair)
{
    const float product = q * f16_at(pair);
    return product + f16_at(pair + 2);
}

/* Returns element i of numbers or zero points of a grouped type. */
static int integer_at(inlay_element_type type, const void *data, size_t i)
{
    const unsigned char *bytes = data;
    return type == INLAY_I8_GROUPED ? (int8_t)bytes[i] : type == INLAY_U8_GROUPED ? bytes[i] : u4_at(data, i);
}

static float grouped_at(const inlay_table *table, size_t row, size_t column)
{
    const unsigned char *data = (const unsigned char *)table->data + row * table->stride_bytes;
    size_t groups = groups_in_row(table), group = column / table->group;
    int zero = table->type == INLAY_U4_GROUPED ? 8 : table->type == INLAY_U8_GROUPED ? 128 : 0;
    if (table->zeros != NULL)
        zero = integer_at(table->type, table->zeros,
                          row * (table->type == INLAY_U4_GROUPED ? (groups + 1) / 2 * 2 : groups) + group);
    return (float)(integer_at(table->type, data, column) - zero) * f32_at(table->scales, row * groups + group);
}

/* Returns a column of MLX's affine types: number `column` of a string of bits, in rows of little-endian words. */
static float affine_at(const inlay_table *table, size_t row, size_t column, size_t bits)
{
    const unsigned char *words = (const unsigned char *)table->data + row * table->stride_bytes;
    const size_t word = column * bits / 32 * 4, next = word + 4, pair = row * groups_in_row(table) * 2;
    uint64_t two = 0;
    memcpy(&two, words + word, next + 4 <= table->dim * bits / 8 ? 8 : 4);
    const float product = (float)(two >> column * bits % 32 & ((1U << bits) - 1)) *
                          f32_at(table->scales, pair + column / table->group * 2);
    return product + f32_at(table->scales, pair + column / table->group * 2 + 1);
}

/* Converts an 8-bit float. NaNs compare unequal. */
static float e4m3_at(unsigned code)
{
    const int exponent = (int)(code >> 3 & 15), fraction = (int)(code & 7);
    const double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    const float value = (code & 127) == 127 ? NAN : (float)magnitude;
    return code >> 7 ? -value : value;
}

static float e8m0_at(unsigned code)
{
    return code == 255 ? NAN : (float)ldexp(1, (int)code - 127);
}

/* Returns the 4-bit number of column i of 32: byte i % 16 has the first half of the columns in its lower half. */
static int half_at(const unsigned char *at, size_t i)
{
    return at[i % 16] >> i / 16 * 4 & 15;
}

/* Same with a fifth bit, from the 32 bits in the four bytes before. */
static int five_at(const unsigned char *at, size_t i)
{
    return half_at(at, i) + (at[(int)(i / 8) - 4] >> i % 8 & 1) * 16;
}

static const float iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const float e2m1[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};

static float nvfp4_at(const unsigned char *block, size_t i)
{
    const unsigned scale = block[i / 16];
    const int number = block[4 + i / 16 * 8 + i % 8] >> i % 16 / 8 * 4 & 15;
    const int exponent = (int)(scale >> 3 & 15), fraction = (int)(scale & 7);
    const double value = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return e2m1[number] * (scale == 127 ? 0 : (float)value);
}

/* Columns of superblocks. Column i = 128 h + 32 k + l = 32 j + l. */
static float q3_k_at(const unsigned char *block, size_t i)
{
    const size_t h = i / 128, k = i / 32 % 4, l = i % 32, part = i / 16;
    const int low = block[32 + 32 * h + l] >> 2 * k & 3, high = block[l] >> i / 32 & 1;
    const unsigned char *b = block + 96;
    const int scale = (b[part % 8] >> part / 8 * 4 & 15) + (b[8 + part % 4] >> part / 4 * 2 & 3) * 16 - 32;
    const float factor = f16_at(block + 108) * (float)scale;
    return factor * (float)(low + 4 * high - 4);
}

static float q45_k_at(const unsigned char *block, size_t i, bool five)
{
    const size_t j = i / 32, l = i % 32;
    const unsigned char *b = block + 4, *numbers = block + (five ? 48 : 16);
    int q = numbers[j / 2 * 32 + l] >> j % 2 * 4 & 15;
    q += five ? (block[16 + l] >> j & 1) * 16 : 0;
    const int scale = j < 4 ? b[j] % 64 : b[j + 4] % 16 + b[j - 4] / 64 * 16;
    const int least = j < 4 ? b[j + 4] % 64 : b[j + 4] / 16 + b[j] / 64 * 16;
    const float factor = f16_at(block) * (float)scale, bias = f16_at(block + 2) * (float)least;
    const float product = factor * (float)q;
    return product - bias;
}

static float q6_k_at(const unsigned char *block, size_t i)
{
    const size_t h = i / 128, k = i / 32 % 4, l = i % 32;
    const int low = block[64 * h + k % 2 * 32 + l] >> k / 2 * 4 & 15, high = block[128 + 32 * h + l] >> 2 * k & 3;
    const float factor = f16_at(block + 208) * (float)(int8_t)block[192 + i / 16];
    return factor * (float)(low + 16 * high - 32);
}

static float q2_k_at(const unsigned char *block, size_t i)
{
    const size_t h = i / 128, k = i / 32 % 4, l = i % 32;
    const int q = block[16 + 32 * h + l] >> 2 * k & 3;
    const float factor = f16_at(block + 80) * (float)(block[i / 16] & 15);
    const float bias = f16_at(block + 82) * (float)(block[i / 16] >> 4);
    const float product = factor * (float)q;
    return product - bias;
}

static float iq4_xs_at(const unsigned char *block, size_t i)
{
    const size_t j = i / 32;
    const int scale = u4_at(block + 4, j) | (block[2 + j / 4] >> j % 4 * 2 & 3) << 4;
    const float factor = f16_at(block) * (float)(scale - 32);
    return factor * iq4_nl[half_at(block + 8 + 16 * j, i % 32)];
}

/* Four columns share a 9-bit index into the grid. Its entries have three bits per column. */
static float iq3_s_at(const unsigned char *block, size_t i)
{
    static const uint16_t grid[] = {
#include "base/iq3_s.inc"
    };
    const size_t four = i / 4;
    const int index = block[2 + four] + (block[66 + four / 8] >> four % 8 & 1) * 256;
    const int magnitude = 2 * (grid[index] >> i % 4 * 3 & 7) + 1, sign = block[74 + i / 8] >> i % 8 & 1;
    const float factor = f16_at(block) * (float)(2 * u4_at(block + 106, i / 32) + 1);
    return factor * (float)(sign ? -magnitude : magnitude);
}

float reference_element(const inlay_table *whole, size_t row, size_t column)
{
    const inlay_table array = reference_array(whole, &row), *const table = &array;
    const unsigned char *at = (const unsigned char *)table->data + row * table->stride_bytes;
    size_t dim = table->dim;
    float value;
    switch (table->type) {
    case INLAY_F32:
        return f32_at(at, column);
    case INLAY_F16:
        return f16_at(at + 2 * column);
    case INLAY_BF16:
        return bf16_at(at + 2 * column);
    case INLAY_I8:
        return (float)(int8_t)at[column] * (table->scales != NULL ? f32_at(table->scales, row) : 1);
    case INLAY_I8_INVERSE:
        value = 1 / f32_at(table->scales, row);
        return (float)(int8_t)at[column] * value;
    case INLAY_U8_ROWWISE:
        value = (float)at[column] * f32_at(at + dim, 0);
        return value + f32_at(at + dim, 1);
    case INLAY_U4_ROWWISE:
        return pair_at((float)u4_at(at, column), at + (dim + 1) / 2);
    case INLAY_U8_ROWWISE_FIRST:
        return pair_at((float)at[4 + column], at);
    case INLAY_U4_ROWWISE_FIRST:
        return pair_at((float)u4_at(at + 4, column), at);
    case INLAY_U2_ROWWISE_FIRST:
        return pair_at((float)(u4_at(at + 4, column / 2) >> column % 2 * 2 & 3), at);
    case INLAY_U2_ROWWISE:
        return pair_at((float)(u4_at(at, column / 2) >> column % 2 * 2 & 3), at + dim / 4);
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
    case INLAY_I8_GROUPED:
    case INLAY_U8_GROUPED:
        return grouped_at(table, row, column);
    case INLAY_E2M1_F32:
        return e2m1[u4_at(at, column)] * f32_at(table->scales, row * (dim / 16) + column / 16);
    case INLAY_Q8_0:
        at += column / 32 * 34;
        return (float)(int8_t)at[2 + column % 32] * f16_at(at);
    case INLAY_Q4_0:
        at += column / 32 * 18;
        return (float)((at[2 + column % 16] >> column % 32 / 16 * 4 & 15) - 8) * f16_at(at);
    case INLAY_E4M3:
        return e4m3_at(at[column]) * (table->scales != NULL ? f32_at(table->scales, row) : 1);
    case INLAY_E4M3_E8M0:
        return e4m3_at(at[column]) * e8m0_at(((const unsigned char *)table->scales)[row * (dim / 32) + column / 32]);
    case INLAY_Q4_1:
        at += column / 32 * 20;
        value = (float)half_at(at + 4, column % 32) * f16_at(at);
        return value + f16_at(at + 2);
    case INLAY_Q5_0:
        at += column / 32 * 22;
        return (float)(five_at(at + 6, column % 32) - 16) * f16_at(at);
    case INLAY_Q5_1:
        at += column / 32 * 24;
        value = (float)five_at(at + 8, column % 32) * f16_at(at);
        return value + f16_at(at + 2);
    case INLAY_IQ4_NL:
        at += column / 32 * 18;
        return iq4_nl[half_at(at + 2, column % 32)] * f16_at(at);
    case INLAY_MXFP4:
        at += column / 32 * 17;
        return (float)ldexp((double)e2m1[half_at(at + 1, column % 32)], at[0] - 127);
    case INLAY_NVFP4:
        return nvfp4_at(at + column / 64 * 36, column % 64);
    case INLAY_Q3_K:
        return q3_k_at(at + column / 256 * 110, column % 256);
    case INLAY_Q4_K:
        return q45_k_at(at + column / 256 * 144, column % 256, false);
    case INLAY_Q5_K:
        return q45_k_at(at + column / 256 * 176, column % 256, true);
    case INLAY_Q6_K:
        return q6_k_at(at + column / 256 * 210, column % 256);
    case INLAY_Q2_K:
        return q2_k_at(at + column / 256 * 84, column % 256);
    case INLAY_IQ4_XS:
        return iq4_xs_at(at + column / 256 * 136, column % 256);
    case INLAY_IQ3_S:
        return iq3_s_at(at + column / 256 * 110, column % 256);
    case INLAY_U2_AFFINE:
        return affine_at(table, row, column, 2);
    case INLAY_U3_AFFINE:
        return affine_at(table, row, column, 3);
    case INLAY_U4_AFFINE:
        return affine_at(table, row, column, 4);
    case INLAY_U5_AFFINE:
        return affine_at(table, row, column, 5);
    case INLAY_U6_AFFINE:
        return affine_at(table, row, column, 6);
    case INLAY_U8_AFFINE:
        return affine_at(table, row, column, 8);
    }
    return NAN;
}

/* Both round to nearest even. */
static unsigned to_f16(float value)
{
    unsigned sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs((double)value);
    int exponent = -13; /* also for subnormals, which have the unit of the smallest normal number */
    if (isnan(value))
        return sign | 0x7e00;
    if (magnitude >= 65520)
        return sign | 0x7c00;
    if (magnitude >= 0x1p-14)
        frexp(magnitude, &exponent);
    /* The leading bit of a normal number adds one to the exponent field, and a carry adds another one. */
    return sign | ((unsigned)nearbyint(ldexp(magnitude, 11 - exponent)) + (unsigned)(exponent + 13) * 1024);
}

static unsigned to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? bits >> 16 | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

void reference_put_row(unsigned char *out, inlay_element_type type, const float *row, size_t dim)
{
    for (size_t column = 0; column < dim; column++)
        if (type == INLAY_F32) {
            memcpy(out + 4 * column, row + column, 4);
        } else {
            uint16_t bits = (uint16_t)(type == INLAY_F16 ? to_f16(row[column]) : to_bf16(row[column]));
            memcpy(out + 2 * column, &bits, 2);
        }
}

/* ---- Tokens ---- */

enum kind {
    ROW,     /* a row of the table */
    ZEROS,   /* a row of zeros, processed like any other */
    BARE,    /* zeros in the output */
    OUTSIDE, /* not in the shard: -0.0 in the output */
    SKIPPED,
    BAD
};

/* Returns the kind of an id. If it has a row, sets the row and the weight of the id for which the row is used. */
static enum kind kind_of(const inlay_layer_spec *spec, int64_t id, size_t *row, float *weight)
{
    const inlay_table *tokens = spec->tokens;
    bool shard = tokens->vocab > 0, zeros = false;
    int64_t vocab = (int64_t)(shard ? tokens->vocab : tokens->rows);
    if (spec->token_mapping != NULL)
        vocab = (int64_t)spec->token_mapping_length;
    *row = 0;
    *weight = 1;
    bool padding = id == spec->padding_id && id >= 0 && spec->zero_rows != INLAY_ZERO_ROWS_TABLE;
    bool pruned = spec->token_mapping != NULL && id >= 0 && id < vocab && !padding &&
                  reference_id(spec->token_mapping, spec->token_mapping_type, (size_t)id) == INLAY_NO_ROW;
    if (id < 0 || id >= vocab || pruned) {
        if (spec->bad_id == INLAY_BAD_ID_SKIP)
            return SKIPPED;
        if (spec->bad_id == INLAY_BAD_ID_ERROR || (spec->bad_id == INLAY_BAD_ID_CLAMP && vocab == 0))
            return BAD;
        zeros = spec->bad_id == INLAY_BAD_ID_ZERO;
        if (spec->bad_id == INLAY_BAD_ID_SUBSTITUTE)
            id = spec->substitute_id;
        else
            id = zeros || id < 0 ? 0 : vocab - 1;
    }
    if (id == spec->padding_id && id >= 0 && spec->zero_rows != INLAY_ZERO_ROWS_TABLE)
        zeros = true;
    if (spec->token_weights != NULL && !zeros)
        *weight = f32_at(spec->token_weights, (size_t)id);
    if (spec->token_mapping != NULL)
        id = reference_id(spec->token_mapping, spec->token_mapping_type, (size_t)id);
    if (id < 0) /* zeros need no row */
        id = 0;
    int64_t in_table = id - (int64_t)tokens->first_row;
    if (shard && (in_table < 0 || in_table >= (int64_t)tokens->rows))
        return OUTSIDE;
    *row = (size_t)in_table;
    if (zeros)
        return spec->zero_rows == INLAY_ZERO_ROWS_BARE ? BARE : ZEROS;
    return ROW;
}

/* A sequence: tokens [first, first + count) of the ids, rows of the output from `row`. */
struct sequence {
    size_t first, count, row;
    int64_t start;
};

static struct sequence sequence_at(const inlay_batch *batch, size_t b)
{
    int64_t start = batch->starts != NULL ? reference_id(batch->starts, INLAY_ID_I64, b) : batch->start;
    if (batch->offsets == NULL)
        return (struct sequence){b * batch->length, batch->length, b * batch->length, start};
    size_t first = (size_t)reference_id(batch->offsets, INLAY_ID_I64, b);
    size_t end = (size_t)reference_id(batch->offsets, INLAY_ID_I64, b + 1);
    return (struct sequence){first, end - first, batch->padded_length > 0 ? b * batch->padded_length : first, start};
}

static int64_t token_id(const inlay_batch *batch, size_t token)
{
    return reference_id(batch->ids, batch->id_type, token);
}

/* Returns the position of token s of a sequence, clamped to int64. */
static int64_t position_of(const inlay_layer_spec *spec, const inlay_batch *batch, const struct sequence *sequence,
                           size_t s)
{
    if (batch->position_ids != NULL)
        return reference_id(batch->position_ids, batch->position_id_type, sequence->first + s);
    int64_t before = (int64_t)s, position;
    if (spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE) {
        if (token_id(batch, sequence->first + s) == spec->padding_id)
            return sequence->start - 1;
        before = 0;
        for (size_t i = 0; i < s; i++)
            before += token_id(batch, sequence->first + i) != spec->padding_id;
    }
    return __builtin_add_overflow(sequence->start, before, &position) ? INT64_MAX : position;
}

/* Returns the row of a position in the sinusoid or learned table, or -1. */
static int64_t position_row(const inlay_layer_spec *spec, int64_t position)
{
    int64_t limit = spec->sinusoid != NULL ? INLAY_POSITION_LIMIT : (int64_t)spec->positions->rows;
    if (position >= 0 && position < limit)
        return position;
    return position >= 0 && spec->clamp_positions && limit > 0 ? limit - 1 : -1;
}

static int64_t segment_of(const inlay_batch *batch, size_t token)
{
    return batch->segment_ids != NULL ? reference_id(batch->segment_ids, batch->segment_id_type, token) : 0;
}

/* ---- Faults ---- */

static inlay_status find_bad_offset(const inlay_batch *batch, inlay_fault *fault)
{
    int64_t before = 0;
    for (size_t b = 0; batch->offsets != NULL && b <= batch->sequences; b++) {
        int64_t end = reference_id(batch->offsets, INLAY_ID_I64, b);
        if ((b == 0 && end != 0) || end < before || end > (int64_t)batch->length ||
            (b == batch->sequences && end != (int64_t)batch->length) ||
            (batch->padded_length > 0 && end - before > (int64_t)batch->padded_length)) {
            *fault = (inlay_fault){.sequence = b, .value = end};
            return INLAY_ERROR_OFFSETS;
        }
        before = end;
    }
    return INLAY_OK;
}

/* True if a token has the error INLAY_ERROR_ID, INLAY_ERROR_POSITION or INLAY_ERROR_SEGMENT given by `what`. */
static bool is_bad(inlay_status what, const inlay_layer_spec *spec, const inlay_batch *batch,
                   const struct sequence *sequence, size_t s, int64_t *value)
{
    size_t token = sequence->first + s, row;
    float weight;
    enum kind kind = kind_of(spec, token_id(batch, token), &row, &weight);
    if (what == INLAY_ERROR_ID) {
        *value = token_id(batch, token);
        return kind == BAD;
    }
    if (what == INLAY_ERROR_POSITION) {
        if ((spec->sinusoid == NULL && spec->positions == NULL) || (kind != ROW && kind != ZEROS))
            return false;
        *value = position_of(spec, batch, sequence, s);
        return position_row(spec, *value) < 0;
    }
    *value = segment_of(batch, token);
    return batch->segment_ids != NULL && (*value < 0 || *value >= (int64_t)spec->segments->rows);
}

static inlay_status find_fault(const inlay_layer_spec *spec, const inlay_batch *batch, inlay_fault *fault)
{
    static const inlay_status order[] = {INLAY_ERROR_ID, INLAY_ERROR_POSITION, INLAY_ERROR_SEGMENT};
    inlay_status status = find_bad_offset(batch, fault);
    if (status != INLAY_OK)
        return status;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (size_t b = 0; b < batch->sequences; b++) {
            struct sequence sequence = sequence_at(batch, b);
            for (size_t s = 0; s < sequence.count; s++) {
                *fault = (inlay_fault){.sequence = b, .token = s};
                if (is_bad(order[i], spec, batch, &sequence, s, &fault->value))
                    return order[i];
            }
        }
    return INLAY_OK;
}

/* ---- Values ---- */

/* The order of summation is the one in struct inlay_kernels: 16 lanes, then halves. */
static double sum_in_lanes(const float *row, size_t dim, bool squares, double mean)
{
    double lane[16] = {0};
    for (size_t column = 0; column < dim; column++) {
        double x = squares ? (row[column] - mean) * (row[column] - mean) : (double)row[column];
        lane[column % 16] += x;
    }
    for (size_t n = 8; n > 0; n /= 2)
        for (size_t j = 0; j < n; j++)
            lane[j] += lane[j + n];
    return lane[0];
}

static void normalize(const inlay_layer_spec *spec, float *row, size_t dim)
{
    double mean = 0, squares = sum_in_lanes(row, dim, true, 0), spread = squares / (double)dim;
    if (spec->norm == INLAY_NORM_LAYER) {
        mean = sum_in_lanes(row, dim, false, 0) / (double)dim;
        spread = spread - mean * mean;
        if (spread < mean * mean / 256)
            spread = sum_in_lanes(row, dim, true, mean) / (double)dim;
    }
    double factor = 1 / sqrt(spread + (double)spec->epsilon);
    if (spec->norm == INLAY_NORM_L2)
        factor = 1 / (sqrt(squares) < (double)spec->epsilon ? (double)spec->epsilon : sqrt(squares));
    /* In float with the mean as a pair, or in double if the factor is extreme. */
    const bool extreme = !(factor >= 0x1p-100 && factor <= 0x1p100);
    const float high = (float)mean, low = (float)(mean - high);
    for (size_t column = 0; column < dim; column++) {
        const float gamma = spec->gamma != NULL ? f32_at(spec->gamma, column) : 1;
        const float beta = spec->beta != NULL ? f32_at(spec->beta, column) : -0.0f;
        if (extreme)
            row[column] = (float)((row[column] - mean) * factor * gamma + beta);
        else
            row[column] = ((row[column] - high) - low) * (float)factor * gamma + beta;
    }
}

/* Returns word element % 4 of block element / 4 of Philox4x32-10 (Salmon et al. 2011). */
static uint32_t philox_word(uint64_t element, uint64_t key, uint64_t offset)
{
    uint32_t x[4] = {(uint32_t)(element / 4), (uint32_t)(element / 4 >> 32), (uint32_t)offset,
                     (uint32_t)(offset >> 32)};
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xd2511f53) * x[0], b = UINT64_C(0xcd9e8d57) * x[2];
        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ low;
        x[1] = (uint32_t)b;
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ high;
        x[3] = (uint32_t)a;
        low += 0x9e3779b9;
        high += 0xbb67ae85;
    }
    return x[element % 4];
}

/* Applies the post-ops to the sum; `index` is the row's index among the tokens, or the sequence with pooling. */
static void finish(const inlay_layer_spec *spec, const inlay_batch *batch, float *row, size_t index, unsigned char *out)
{
    size_t dim = spec->tokens->dim;
    if (spec->norm != INLAY_NORM_NONE)
        normalize(spec, row, dim);
    double threshold = nearbyint((double)batch->dropout * 0x1p32);
    for (size_t column = 0; threshold > 0 && column < dim; column++) {
        uint32_t word = philox_word((uint64_t)index * dim + column, batch->dropout_key, batch->dropout_offset);
        row[column] = word >= threshold ? row[column] * (float)(1 / (1 - (double)batch->dropout)) : 0;
    }
    reference_put_row(out, spec->out_type, row, dim);
}

/* The buffers of the reference. */
static float sum[REFERENCE_MAX_DIM], sines[REFERENCE_MAX_DIM];

static void embed_token(const inlay_layer_spec *spec, const inlay_batch *batch, const struct sequence *sequence,
                        size_t s, unsigned char *out)
{
    size_t dim = spec->tokens->dim, token = sequence->first + s, row, position = 0;
    float weight;
    enum kind kind = kind_of(spec, token_id(batch, token), &row, &weight);
    if (kind == SKIPPED)
        return;
    if (kind == BARE || kind == OUTSIDE) {
        for (size_t column = 0; column < dim; column++)
            sum[column] = kind == BARE ? 0.0f : -0.0f;
        reference_put_row(out, spec->out_type, sum, dim);
        return;
    }
    if (spec->sinusoid != NULL || spec->positions != NULL)
        position = (size_t)position_row(spec, position_of(spec, batch, sequence, s));
    if (spec->sinusoid != NULL)
        inlay_sinusoid_rows(spec->sinusoid, (int64_t)position, 1, INLAY_F32, sines, sizeof sines, NULL);
    for (size_t column = 0; column < dim; column++) {
        float segment = 0;
        if (spec->segments != NULL)
            segment = reference_element(spec->segments, (size_t)segment_of(batch, token), column);
        sum[column] = (kind == ROW ? reference_element(spec->tokens, row, column) : 0) * spec->scale;
        if (spec->segments_first)
            sum[column] = sum[column] + segment;
        if (spec->sinusoid != NULL)
            sum[column] = sum[column] + sines[column];
        if (spec->positions != NULL)
            sum[column] = sum[column] + reference_element(spec->positions, position, column);
        if (spec->segments != NULL && !spec->segments_first)
            sum[column] = sum[column] + segment;
    }
    finish(spec, batch, sum, token, out);
}

/* Returns the kind of a pooled token, and sets the row and its factor. */
static enum kind pooled_row(const inlay_layer_spec *spec, const inlay_batch *batch, size_t token, size_t *row,
                            float *factor)
{
    enum kind kind = kind_of(spec, token_id(batch, token), row, factor);
    if (batch->weights != NULL)
        *factor = *factor * f32_at(batch->weights, token);
    *factor = *factor * spec->scale;
    return kind;
}

static void pool(const inlay_layer_spec *spec, const inlay_batch *batch, size_t b, unsigned char *out)
{
    struct sequence sequence = sequence_at(batch, b);
    size_t dim = spec->tokens->dim, n = 0, row;
    memset(sum, 0, sizeof sum);
    for (size_t token = sequence.first; token < sequence.first + sequence.count; token++) {
        float factor;
        if (pooled_row(spec, batch, token, &row, &factor) != ROW)
            continue;
        for (size_t column = 0; column < dim; column++) {
            float term = reference_element(spec->tokens, row, column) * factor;
            sum[column] = n > 0 ? sum[column] + term : term;
        }
        n++;
    }
    for (size_t column = 0; column < dim && spec->pooling == INLAY_POOLING_MEAN && n > 0; column++)
        sum[column] = sum[column] / (float)n;
    finish(spec, batch, sum, b, out);
}

/* ---- The call ---- */

/* Returns the batch with its length replacing INLAY_LENGTH_FROM_OFFSETS. */
static inlay_batch with_length(const inlay_batch *batch)
{
    inlay_batch result = *batch;
    if (batch->length == INLAY_LENGTH_FROM_OFFSETS)
        result.length = (size_t)reference_id(batch->offsets, INLAY_ID_I64, batch->sequences);
    return result;
}

size_t reference_rows(const inlay_layer_spec *spec, const inlay_batch *batch)
{
    if (spec->pooling != INLAY_POOLING_NONE)
        return batch->sequences;
    if (batch->offsets != NULL && batch->padded_length == 0)
        return with_length(batch).length;
    return batch->sequences * (batch->offsets != NULL ? batch->padded_length : batch->length);
}

inlay_status reference_forward(const inlay_layer_spec *spec, const inlay_batch *batch, unsigned char *out,
                               size_t out_stride_bytes, inlay_fault *fault)
{
    const inlay_batch known = with_length(batch);
    size_t row_bytes = spec->tokens->dim * (spec->out_type == INLAY_F32 ? 4 : 2);
    if (reference_rows(spec, &known) == 0)
        return INLAY_OK;
    inlay_status status = find_fault(spec, &known, fault);
    for (size_t b = 0; status == INLAY_OK && b < known.sequences; b++) {
        struct sequence sequence = sequence_at(&known, b);
        if (spec->pooling != INLAY_POOLING_NONE) {
            pool(spec, &known, b, out + b * out_stride_bytes);
            continue;
        }
        for (size_t s = 0; s < sequence.count; s++)
            embed_token(spec, &known, &sequence, s, out + (sequence.row + s) * out_stride_bytes);
        for (size_t s = sequence.count; s < known.padded_length; s++)
            memset(out + (sequence.row + s) * out_stride_bytes, 0, row_bytes);
    }
    return status;
}

/* ---- Backward ---- */

/* Adds factor * gradient to a row of a table's gradients, unless `rows` is null. */
static void add_gradient(void *rows, size_t stride_bytes, size_t row, const unsigned char *gradient, float factor,
                         size_t dim)
{
    for (size_t column = 0; rows != NULL && column < dim; column++) {
        float product = f32_at(gradient, column) * factor;
        float total = f32_at((unsigned char *)rows + row * stride_bytes, column) + product;
        memcpy((unsigned char *)rows + row * stride_bytes + column * 4, &total, 4);
    }
}

static void give_back_token(const inlay_layer_spec *spec, const inlay_batch *batch, const struct sequence *sequence,
                            size_t s, const unsigned char *gradient, const inlay_gradients *to)
{
    size_t dim = spec->tokens->dim, token = sequence->first + s, row;
    float weight;
    enum kind kind = kind_of(spec, token_id(batch, token), &row, &weight);
    if (kind == ROW)
        add_gradient(to->tokens, to->tokens_stride_bytes, row, gradient, spec->scale, dim);
    if (kind != ROW && kind != ZEROS)
        return;
    if (to->positions != NULL)
        add_gradient(to->positions, to->positions_stride_bytes,
                     (size_t)position_row(spec, position_of(spec, batch, sequence, s)), gradient, 1, dim);
    add_gradient(to->segments, to->segments_stride_bytes, (size_t)segment_of(batch, token), gradient, 1, dim);
}

static void give_back_pooled(const inlay_layer_spec *spec, const inlay_batch *batch, const struct sequence *sequence,
                             const unsigned char *gradient, const inlay_gradients *to)
{
    size_t pooled = 0, row, end = sequence->first + sequence->count;
    for (size_t token = sequence->first; token < end; token++)
        pooled += pooled_row(spec, batch, token, &row, &(float){0}) == ROW;
    for (size_t token = sequence->first; token < end; token++) {
        float factor;
        if (pooled_row(spec, batch, token, &row, &factor) != ROW)
            continue;
        if (spec->pooling == INLAY_POOLING_MEAN)
            factor = factor / (float)pooled;
        add_gradient(to->tokens, to->tokens_stride_bytes, row, gradient, factor, spec->tokens->dim);
    }
}

inlay_status reference_backward(const inlay_layer_spec *spec, const inlay_batch *batch,
                                const unsigned char *out_gradient, size_t out_stride_bytes,
                                const inlay_gradients *gradients, inlay_fault *fault)
{
    const inlay_batch known = with_length(batch);
    if (reference_rows(spec, &known) == 0)
        return INLAY_OK;
    inlay_status status = find_fault(spec, &known, fault);
    for (size_t b = 0; status == INLAY_OK && b < known.sequences; b++) {
        struct sequence sequence = sequence_at(&known, b);
        if (spec->pooling != INLAY_POOLING_NONE) {
            give_back_pooled(spec, &known, &sequence, out_gradient + b * out_stride_bytes, gradients);
            continue;
        }
        for (size_t s = 0; s < sequence.count; s++)
            give_back_token(spec, &known, &sequence, s, out_gradient + (sequence.row + s) * out_stride_bytes,
                            gradients);
    }
    return status;
}
