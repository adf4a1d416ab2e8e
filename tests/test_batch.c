/* SPDX-License-Identifier: MIT */
/*
 * The whole of inlay_forward against a reference that is the header's text in loops: every id type, policy, padding,
 * numbering, shard, ragged shape, pooling and stage together, at random; then each promise by itself. Statuses and
 * places of faults are compared too, and every byte outside the rows.
 */
#include "support.h"

#include "layer/dropout.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 5000, MAX_SEQUENCES = 40, MAX_TABLE_ROWS = 24 };

/* ---- The reference ---- */

static int64_t id_of(const void *ids, inlay_id_type type, size_t i)
{
    const unsigned char *at = ids;
    uint8_t u8;
    uint16_t u16;
    int16_t i16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    switch (type) {
    case INLAY_ID_U8:
        memcpy(&u8, at + i, 1);
        return u8;
    case INLAY_ID_U16:
        memcpy(&u16, at + 2 * i, 2);
        return u16;
    case INLAY_ID_I16:
        memcpy(&i16, at + 2 * i, 2);
        return i16;
    case INLAY_ID_I32:
        memcpy(&i32, at + 4 * i, 4);
        return i32;
    case INLAY_ID_U32:
        memcpy(&u32, at + 4 * i, 4);
        return u32;
    case INLAY_ID_I64:
        break;
    }
    memcpy(&i64, at + 8 * i, 8);
    return i64;
}

static size_t id_size(inlay_id_type type)
{
    static const size_t sizes[] = {0, 4, 8, 1, 2, 2, 4};
    return sizes[type];
}

static float half_at(const unsigned char *at)
{
    unsigned bits = at[0] | (unsigned)at[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexpf((float)(fraction + 1024), (int)exponent - 25) : ldexpf((float)fraction, -24));
}

static float brain_at(const unsigned char *at)
{
    uint32_t bits = (uint32_t)(at[0] | (unsigned)at[1] << 8) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int nibble_at(const unsigned char *at, size_t i)
{
    return i % 2 ? at[i / 2] >> 4 : at[i / 2] & 15;
}

static float stored_at(const inlay_table *table, size_t row, size_t column)
{
    const unsigned char *at = (const unsigned char *)table->data + row * table->stride_bytes;
    size_t dim = table->dim, groups;
    float value;
    int zero = 8;
    switch (table->type) {
    case INLAY_F32:
        return float_at(at, column);
    case INLAY_F16:
        return half_at(at + 2 * column);
    case INLAY_BF16:
        return brain_at(at + 2 * column);
    case INLAY_I8:
        return (float)(int8_t)at[column] * float_at(table->scales, row);
    case INLAY_I8_INVERSE:
        value = 1 / float_at(table->scales, row);
        return (float)(int8_t)at[column] * value;
    case INLAY_U8_ROWWISE:
        value = (float)at[column] * float_at(at + dim, 0);
        return value + float_at(at + dim, 1);
    case INLAY_U4_ROWWISE:
        value = (float)nibble_at(at, column) * half_at(at + (dim + 1) / 2);
        return value + half_at(at + (dim + 1) / 2 + 2);
    case INLAY_U4_GROUPED_FLAT:
    case INLAY_U4_GROUPED:
        groups = dim / table->group;
        if (table->zeros != NULL)
            zero = nibble_at((const unsigned char *)table->zeros + row * ((groups + 1) / 2), column / table->group);
        return (float)(nibble_at(at, column) - zero) * float_at(table->scales, row * groups + column / table->group);
    case INLAY_Q8_0:
        at += column / 32 * 34;
        return (float)(int8_t)at[2 + column % 32] * half_at(at);
    case INLAY_Q4_0:
        at += column / 32 * 18;
        return (float)((column % 32 < 16 ? at[2 + column % 16] & 15 : at[2 + column % 16] >> 4) - 8) * half_at(at);
    }
    return NAN;
}

enum fate { ROW, ZEROS, BARE, OUTSIDE, SKIPPED, BAD };

static enum fate fate_of(const inlay_layer_spec *spec, int64_t id, size_t *row)
{
    const inlay_table *tokens = spec->tokens;
    bool shard = tokens->vocab > 0, zeros = false;
    int64_t vocab = (int64_t)(shard ? tokens->vocab : tokens->rows);
    *row = 0;
    if (id < 0 || id >= vocab) {
        if (spec->bad_id == INLAY_BAD_ID_SKIP)
            return SKIPPED;
        if (spec->bad_id == INLAY_BAD_ID_ERROR || (spec->bad_id == INLAY_BAD_ID_CLAMP && vocab == 0))
            return BAD;
        if (spec->bad_id == INLAY_BAD_ID_ZERO) {
            zeros = true;
            id = 0;
        } else if (spec->bad_id == INLAY_BAD_ID_SUBSTITUTE) {
            id = spec->substitute_id;
        } else {
            id = id < 0 ? 0 : vocab - 1;
        }
    }
    zeros = zeros || (spec->padding_id >= 0 && id == spec->padding_id);
    int64_t in_table = id - (int64_t)tokens->first_row;
    if (shard && (in_table < 0 || in_table >= (int64_t)tokens->rows))
        return OUTSIDE;
    *row = (size_t)in_table;
    if (zeros)
        return spec->zero_rows == INLAY_ZERO_ROWS_POSITIONED ? ZEROS : BARE;
    return ROW;
}

/* Nearest even, for a type of so many fraction bits whose smallest normal is 2^least. */
static double to_nearest(double x, int fraction_bits, int least)
{
    int exponent;
    frexp(x, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    double unit = ldexp(1, exponent - fraction_bits);
    return nearbyint(x / unit) * unit;
}

static unsigned half_bits(float value)
{
    unsigned sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return sign | 0x7e00;
    double x = isinf(value) ? INFINITY : to_nearest(fabs((double)value), 10, -14);
    if (x >= 65520)
        return sign | 0x7c00;
    if (x < 0x1p-14)
        return sign | (unsigned)(x * 0x1p24);
    int exponent;
    double fraction = frexp(x, &exponent);
    return sign | (unsigned)(exponent + 14) << 10 | ((unsigned)(fraction * 2048) & 1023);
}

static unsigned brain_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return bits >> 16 | 64;
    uint32_t rest = bits & 0xffff, kept = bits >> 16;
    return kept + (rest > 0x8000 || (rest == 0x8000 && kept % 2));
}

static void put(unsigned char *out, inlay_element_type type, const float *row, size_t dim)
{
    for (size_t column = 0; column < dim; column++)
        if (type == INLAY_F32) {
            memcpy(out + 4 * column, row + column, 4);
        } else {
            unsigned bits = type == INLAY_F16 ? half_bits(row[column]) : brain_bits(row[column]);
            out[2 * column] = (unsigned char)bits;
            out[2 * column + 1] = (unsigned char)(bits >> 8);
        }
}

/* In the order that struct inlay_kernels has it. */
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

static void normalise(const inlay_layer_spec *spec, float *row, size_t dim)
{
    double mean = 0, spread = sum_in_lanes(row, dim, true, 0) / (double)dim;
    if (spec->norm == INLAY_NORM_LAYER) {
        mean = sum_in_lanes(row, dim, false, 0) / (double)dim;
        spread = spread - mean * mean;
        if (spread < mean * mean / 256)
            spread = sum_in_lanes(row, dim, true, mean) / (double)dim;
    }
    double factor = 1 / sqrt(spread + (double)spec->epsilon);
    for (size_t column = 0; column < dim; column++) {
        double x = (row[column] - mean) * factor;
        if (spec->gamma != NULL)
            x = x * (double)float_at(spec->gamma, column);
        if (spec->beta != NULL)
            x = x + (double)float_at(spec->beta, column);
        row[column] = (float)x;
    }
}

/* The stages behind the sum; element is the index of the row's first. */
static void finish(const inlay_layer_spec *spec, const inlay_batch *batch, float *row, size_t token, unsigned char *out)
{
    size_t dim = spec->tokens->dim;
    if (spec->norm != INLAY_NORM_NONE)
        normalise(spec, row, dim);
    if (batch->dropout > 0)
        inlay_dropout((unsigned char *)row, dim, (uint64_t)token * dim, batch->dropout_key, batch->dropout_offset,
                      batch->dropout);
    put(out, spec->out_type, row, dim);
}

struct place {
    size_t first, count; /* of the ids */
    size_t row;          /* of the output */
};

static struct place place_of(const inlay_batch *batch, size_t b)
{
    if (batch->offsets == NULL)
        return (struct place){b * batch->length, batch->length, b * batch->length};
    size_t first = (size_t)id_of(batch->offsets, INLAY_ID_I64, b),
           end = (size_t)id_of(batch->offsets, INLAY_ID_I64, b + 1);
    return (struct place){first, end - first, batch->padded_length > 0 ? b * batch->padded_length : first};
}

/* The positions of a sequence's tokens, one after another. */
struct counter {
    int64_t start, counted;
};

static int64_t position_of(const inlay_layer_spec *spec, const inlay_batch *batch, struct counter *counter,
                           size_t token, size_t s)
{
    if (batch->position_ids != NULL)
        return id_of(batch->position_ids, batch->position_id_type, token);
    if (spec->position_mode == INLAY_POSITION_MODE_SEQUENTIAL)
        return counter->start + (int64_t)s;
    if (id_of(batch->ids, batch->id_type, token) == spec->padding_id)
        return counter->start - 1;
    return counter->start + counter->counted++;
}

static struct counter counter_of(const inlay_batch *batch, size_t b)
{
    return (struct counter){batch->starts != NULL ? id_of(batch->starts, INLAY_ID_I64, b) : batch->start, 0};
}

/* The row of positions that a position takes, or -1. */
static int64_t row_of_position(const inlay_layer_spec *spec, int64_t position)
{
    int64_t limit = spec->sinusoid != NULL ? INLAY_POSITION_LIMIT : (int64_t)spec->positions->rows;
    if (position >= 0 && position < limit)
        return position;
    return position >= 0 && spec->clamp_positions && limit > 0 ? limit - 1 : -1;
}

static inlay_status find_fault(const inlay_layer_spec *spec, const inlay_batch *batch, inlay_fault *fault)
{
    size_t row;
    if (batch->offsets != NULL)
        for (size_t b = 0; b <= batch->sequences; b++) {
            int64_t end = id_of(batch->offsets, INLAY_ID_I64, b);
            int64_t before = b > 0 ? id_of(batch->offsets, INLAY_ID_I64, b - 1) : 0;
            if ((b == 0 && end != 0) || end < before || end > (int64_t)batch->length ||
                (b == batch->sequences && end != (int64_t)batch->length) ||
                (batch->padded_length > 0 && end - before > (int64_t)batch->padded_length)) {
                *fault = (inlay_fault){b, 0, end};
                return INLAY_ERROR_OFFSETS;
            }
        }
    for (int what = 0; what < 3; what++)
        for (size_t b = 0; b < batch->sequences; b++) {
            struct place place = place_of(batch, b);
            struct counter counter = counter_of(batch, b);
            for (size_t s = 0; s < place.count; s++) {
                size_t token = place.first + s;
                int64_t id = id_of(batch->ids, batch->id_type, token);
                enum fate fate = fate_of(spec, id, &row);
                *fault = (inlay_fault){b, s, id};
                if (what == 0 && fate == BAD)
                    return INLAY_ERROR_ID;
                if (what == 1 && (spec->sinusoid != NULL || spec->positions != NULL)) {
                    fault->value = position_of(spec, batch, &counter, token, s);
                    if ((fate == ROW || fate == ZEROS) && row_of_position(spec, fault->value) < 0)
                        return INLAY_ERROR_POSITION;
                }
                if (what == 2 && batch->segment_ids != NULL) {
                    fault->value = id_of(batch->segment_ids, batch->segment_id_type, token);
                    if (fault->value < 0 || fault->value >= (int64_t)spec->segments->rows)
                        return INLAY_ERROR_SEGMENT;
                }
            }
        }
    return INLAY_OK;
}

static void pool_reference(const inlay_layer_spec *spec, const inlay_batch *batch, size_t b, unsigned char *out)
{
    static float sum[MAX_DIM];
    size_t dim = spec->tokens->dim, n = 0, row;
    struct place place = place_of(batch, b);
    memset(sum, 0, sizeof sum);
    for (size_t s = 0; s < place.count; s++) {
        if (fate_of(spec, id_of(batch->ids, batch->id_type, place.first + s), &row) != ROW)
            continue;
        float factor = spec->scale;
        if (batch->weights != NULL)
            factor = float_at(batch->weights, place.first + s) * spec->scale;
        for (size_t column = 0; column < dim; column++) {
            float term = stored_at(spec->tokens, row, column) * factor;
            sum[column] = n > 0 ? sum[column] + term : term;
        }
        n++;
    }
    if (spec->pooling == INLAY_POOLING_MEAN && n > 0) {
        float share = 1 / (float)n;
        for (size_t column = 0; column < dim; column++)
            sum[column] = sum[column] * share;
    }
    finish(spec, batch, sum, b, out);
}

static inlay_status reference(const inlay_layer_spec *spec, const inlay_batch *batch, unsigned char *out, size_t stride,
                              inlay_fault *fault)
{
    static float sum[MAX_DIM], sines[MAX_DIM];
    size_t dim = spec->tokens->dim, out_bytes = dim * (spec->out_type == INLAY_F32 ? 4 : 2);
    int64_t of_sines = -1;
    bool ragged = batch->offsets != NULL;
    size_t rows = spec->pooling != INLAY_POOLING_NONE ? batch->sequences
                  : batch->padded_length > 0          ? batch->sequences * batch->padded_length
                  : ragged                            ? batch->length
                                                      : batch->sequences * batch->length;
    if (rows == 0)
        return INLAY_OK;
    inlay_status status = find_fault(spec, batch, fault);
    for (size_t b = 0; status == INLAY_OK && b < batch->sequences; b++) {
        struct place place = place_of(batch, b);
        struct counter counter = counter_of(batch, b);
        if (spec->pooling != INLAY_POOLING_NONE) {
            pool_reference(spec, batch, b, out + b * stride);
            continue;
        }
        for (size_t s = 0; s < place.count; s++) {
            size_t token = place.first + s, row;
            unsigned char *to = out + (place.row + s) * stride;
            enum fate fate = fate_of(spec, id_of(batch->ids, batch->id_type, token), &row);
            int64_t position = position_of(spec, batch, &counter, token, s);
            if (fate == SKIPPED)
                continue;
            if (fate == BARE || fate == OUTSIDE) {
                for (size_t column = 0; column < dim; column++)
                    sum[column] = fate == BARE ? 0.0f : -0.0f;
                put(to, spec->out_type, sum, dim);
                continue;
            }
            if (spec->sinusoid != NULL && position != of_sines) {
                of_sines = position;
                ck_assert_int_eq(inlay_sinusoid_rows(spec->sinusoid, position, 1, INLAY_F32, sines, sizeof sines, NULL),
                                 INLAY_OK);
            }
            size_t segment = batch->segment_ids != NULL ? (size_t)id_of(batch->segment_ids, batch->segment_id_type, token) : 0;
            for (size_t column = 0; column < dim; column++) {
                float type = spec->segments != NULL ? stored_at(spec->segments, segment, column) : 0;
                sum[column] = (fate == ROW ? stored_at(spec->tokens, row, column) : 0) * spec->scale;
                if (spec->segments_first)
                    sum[column] = sum[column] + type;
                if (spec->sinusoid != NULL)
                    sum[column] = sum[column] + sines[column];
                if (spec->positions != NULL)
                    sum[column] =
                        sum[column] + stored_at(spec->positions, (size_t)row_of_position(spec, position), column);
                if (spec->segments != NULL && !spec->segments_first)
                    sum[column] = sum[column] + type;
            }
            finish(spec, batch, sum, token, to);
        }
        for (size_t s = place.count; s < batch->padded_length; s++)
            memset(out + (b * batch->padded_length + s) * stride, 0, out_bytes);
    }
    return status;
}

/* ---- What is compared ---- */

/* Buffers of exactly the size that a call may touch, each against a guard page. */
static struct arena tokens_at, scales_at, zeros_at, positions_at, segments_at, ids_at, listed_at, segment_ids_at,
    starts_at, offsets_at, weights_at, gamma_at, beta_at, out_at, expected_at;

static void make_arenas_of(size_t bytes, size_t widest)
{
    struct arena *const large[] = {&tokens_at, &positions_at, &segments_at};
    struct arena *const small[] = {&scales_at, &zeros_at,   &ids_at,     &listed_at, &segment_ids_at,
                                   &starts_at, &offsets_at, &weights_at, &gamma_at,  &beta_at};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        *large[i] = arena_make(MAX_TABLE_ROWS * (widest * sizeof(float) + 8));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        *small[i] = arena_make(24576);
    out_at = arena_make(bytes);
    expected_at = arena_make(bytes);
}

/* One call, all of it drawn from `random`. */
struct call {
    inlay_tuning tuning;
    inlay_table tokens, positions, segments;
    inlay_sinusoid *sinusoid;
    inlay_layer_spec spec;
    inlay_batch batch;
    inlay_executor executor;
    bool threads;
    size_t rows, out_bytes, stride;
    unsigned char *out;
};

/* How large calls become. */
struct extent_of_calls {
    const size_t *dims; /* the largest last */
    size_t n_dims, tokens, out_bytes;
};

static bool one_in(struct random *random, uint64_t n)
{
    return random_below(random, n) == 0;
}

static unsigned char *place(struct arena *arena, struct random *random, size_t bytes)
{
    return arena_place(arena, bytes, one_in(random, 2) ? AT_END : AT_BEGIN, 0);
}

static inlay_table random_table(struct random *random, struct arena *arena, size_t rows, size_t dim, bool any_type,
                               bool beside)
{
    inlay_table table = inlay_table_f32(NULL, rows, dim);
    inlay_element_type type = INLAY_F32;
    if (any_type)
        type = (inlay_element_type)(1 + random_below(random, INLAY_ELEMENT_TYPES - 1));
    if (type == INLAY_U4_GROUPED)
        table.group = 32u << random_below(random, 3);
    bool divides = table.group > 0 ? dim % table.group == 0 : inlay_table_row_bytes(type, dim) > 0;
    bool arrays = type == INLAY_I8 || type == INLAY_I8_INVERSE || type == INLAY_U4_GROUPED;
    if (!divides || (arrays && !beside)) {
        type = INLAY_F16;
        table.group = 0;
    }
    table.type = type;
    size_t row_bytes = inlay_table_row_bytes(type, dim);
    table.stride_bytes = row_bytes + (one_in(random, 3) ? random_below(random, 9) : 0);
    if (rows == 0)
        return table;
    size_t bytes = (rows - 1) * table.stride_bytes + row_bytes;
    unsigned char *data = place(arena, random, bytes);
    if (type == INLAY_F32)
        random_rows(random, data, rows, dim, table.stride_bytes);
    else
        for (size_t i = 0; i < bytes; i++)
            data[i] = (unsigned char)random_bits(random);
    table.data = data;
    size_t groups = table.group > 0 ? dim / table.group : 1;
    if (table.group > 0 || type == INLAY_I8 || type == INLAY_I8_INVERSE) {
        unsigned char *scales = place(&scales_at, random, rows * groups * sizeof(float));
        random_rows(random, scales, rows, groups, groups * sizeof(float));
        table.scales = scales;
    }
    if (table.group > 0 && one_in(random, 2)) {
        unsigned char *zeros = place(&zeros_at, random, rows * ((groups + 1) / 2));
        for (size_t i = 0; i < rows * ((groups + 1) / 2); i++)
            zeros[i] = (unsigned char)random_bits(random);
        table.zeros = zeros;
    }
    return table;
}

static void put_id(unsigned char *ids, inlay_id_type type, size_t i, int64_t value)
{
    memcpy(ids + i * id_size(type), &value, id_size(type)); /* little-endian */
}

static int64_t hostile(struct random *random, int64_t limit)
{
    const int64_t values[] = {-1,        INT32_MIN,        INT64_MIN, limit,        limit + 1, UINT32_MAX, INT64_MAX,
                              INT32_MAX, INT16_MIN,        INT16_MAX, UINT16_MAX,   UINT8_MAX, limit - 1,  -limit,
                              1 << 16,   INT64_C(1) << 32, -2,        INT64_MIN + 1};
    return values[random_below(random, sizeof values / sizeof *values)];
}

static const void *random_ids(struct random *random, struct arena *arena, size_t n, inlay_id_type *type, int64_t limit,
                              uint64_t hostile_in, int64_t often)
{
    *type = (inlay_id_type)(1 + random_below(random, 6));
    if (n == 0)
        return NULL;
    unsigned char *ids = place(arena, random, n * id_size(*type));
    for (size_t i = 0; i < n; i++) {
        int64_t id = limit > 0 ? (int64_t)random_below(random, (uint64_t)limit) : 0;
        if (often >= 0 && one_in(random, 4))
            id = often;
        if (hostile_in > 0 && one_in(random, hostile_in))
            id = hostile(random, limit);
        put_id(ids, *type, i, id);
    }
    return ids;
}

/* Calls every task once, in random order. */
static void run_shuffled(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    struct random *random = ctx;
    size_t *order = malloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        size_t j = random_below(random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < count; i++)
        task(arg, order[i]);
    free(order);
}

static const float scales[] = {1, 1, 1, 22.627417f, 0.5f, -3, 0, -0.0f, 0x1p-140f, NAN, INFINITY};

static void draw_layer(struct call *call, struct random *random, size_t dim)
{
    size_t vocab = one_in(random, 10) ? random_below(random, 3) : 1 + random_below(random, MAX_TABLE_ROWS);
    bool shard = vocab > 0 && one_in(random, 5);
    size_t first = shard ? random_below(random, vocab) : 0, rows = vocab - first;
    if (shard)
        rows = random_below(random, rows + 1);
    call->tokens = random_table(random, &tokens_at, rows, dim, one_in(random, 2), true);
    if (shard) {
        call->tokens.first_row = first;
        call->tokens.vocab = vocab;
    }
    inlay_layer_spec *spec = &call->spec;
    *spec = inlay_layer_spec_default(&call->tokens);
    spec->scale = scales[random_below(random, sizeof scales / sizeof *scales)];
    bool whole = rows == vocab;
    if (whole && one_in(random, 6) && dim <= 4096)
        spec->pooling = (inlay_pooling)random_below(random, 3);
    if (one_in(random, 3))
        spec->out_type = (inlay_element_type)(1 + random_below(random, 3));
    if (spec->pooling == INLAY_POOLING_NONE) {
        uint64_t kind = random_below(random, 5);
        if (kind >= 3) {
            call->positions =
                random_table(random, &positions_at, one_in(random, 16) ? 0 : 1 + random_below(random, MAX_TABLE_ROWS),
                             dim, one_in(random, 3), false);
            spec->positions = &call->positions;
            spec->clamp_positions = one_in(random, 3);
        } else if (kind >= 1 && (spec->out_type == INLAY_F32 || dim <= 4096)) {
            call->sinusoid = make_sinusoid(dim, 10000, (inlay_sinusoid_layout)(1 + random_below(random, 3)));
            spec->sinusoid = call->sinusoid;
            spec->cached_positions = one_in(random, 3) ? 0 : random_below(random, 40);
            if (one_in(random, 50))
                spec->cached_positions = dim < 100 ? INLAY_CACHED_POSITIONS_DEFAULT : 100;
        }
        if (whole && one_in(random, 4)) {
            call->segments =
                random_table(random, &segments_at, 1 + random_below(random, 3), dim, one_in(random, 3), false);
            spec->segments = &call->segments;
            spec->segments_first = one_in(random, 2);
        }
    }
    if (one_in(random, 3))
        spec->padding_id = (int64_t)random_below(random, vocab + 2);
    if (spec->padding_id >= 0 && (spec->positions != NULL || spec->sinusoid != NULL) && one_in(random, 2))
        spec->position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
    spec->zero_rows = (inlay_zero_rows)random_below(random, 2);
    if (one_in(random, 2))
        spec->bad_id = (inlay_bad_id)random_below(random, 5);
    if (spec->bad_id == INLAY_BAD_ID_SUBSTITUTE && vocab == 0)
        spec->bad_id = INLAY_BAD_ID_ERROR;
    if (spec->bad_id == INLAY_BAD_ID_SUBSTITUTE)
        spec->substitute_id = (int64_t)random_below(random, vocab);
    if (whole && one_in(random, 4) && (spec->out_type == INLAY_F32 || dim <= 4096)) {
        spec->norm = (inlay_norm)(1 + random_below(random, 2));
        spec->epsilon = one_in(random, 2) ? 1e-5f : 0;
        if (one_in(random, 2)) {
            unsigned char *gamma = place(&gamma_at, random, dim * sizeof(float));
            random_rows(random, gamma, 1, dim, 0);
            spec->gamma = gamma;
        }
        if (spec->norm == INLAY_NORM_LAYER && one_in(random, 2)) {
            unsigned char *beta = place(&beta_at, random, dim * sizeof(float));
            random_rows(random, beta, 1, dim, 0);
            spec->beta = beta;
        }
    }
    spec->stores = (inlay_stores)random_below(random, 3);
    call->tuning = inlay_tuning_default();
    spec->tuning = one_in(random, 2) ? &call->tuning : NULL;
    if (one_in(random, 3))
        call->tuning.compute_bytes = 0;
    if (one_in(random, 3))
        call->tuning.l2_bytes = 0;
    if (one_in(random, 3))
        call->tuning.block_bytes = random_below(random, 40000);
    if (one_in(random, 3))
        call->tuning.prefetch_bytes = one_in(random, 3) ? 0 : random_below(random, 40000);
}

static void draw_batch(struct call *call, struct random *random, size_t most_tokens)
{
    const inlay_layer_spec *spec = &call->spec;
    inlay_batch *batch = &call->batch;
    size_t dim = spec->tokens->dim;
    bool errors = one_in(random, 6);
    uint64_t hostile_in = errors ? 20 : 0;
    *batch = inlay_batch_i32(NULL, 0, 0, 0);
    batch->sequences = one_in(random, 12) ? 0 : 1 + random_below(random, 5);
    if (one_in(random, 8))
        batch->sequences = random_below(random, MAX_SEQUENCES);
    if (batch->sequences > most_tokens)
        batch->sequences = most_tokens;
    size_t most = batch->sequences > 0 ? most_tokens / batch->sequences : 0, longest = 0, tokens = 0;
    if (one_in(random, 2)) {
        batch->length = random_below(random, most + 1);
        tokens = batch->sequences * batch->length;
        longest = batch->length;
    } else {
        unsigned char *offsets = place(&offsets_at, random, (batch->sequences + 1) * 8);
        put_id(offsets, INLAY_ID_I64, 0, 0);
        for (size_t b = 0; b < batch->sequences; b++) {
            size_t count = one_in(random, 4) ? random_below(random, 2) : random_below(random, most + 1);
            longest = count > longest ? count : longest;
            tokens += count;
            put_id(offsets, INLAY_ID_I64, b + 1, (int64_t)tokens);
        }
        batch->length = tokens;
        if (spec->pooling == INLAY_POOLING_NONE && one_in(random, 2))
            batch->padded_length = longest + random_below(random, 3);
        while (batch->padded_length * batch->sequences > most_tokens)
            batch->padded_length--;
        if (errors && one_in(random, 3))
            put_id(offsets, INLAY_ID_I64, random_below(random, batch->sequences + 1), hostile(random, (int64_t)tokens));
        batch->offsets = (const int64_t *)(const void *)offsets;
    }
    size_t vocab = spec->tokens->vocab > 0 ? spec->tokens->vocab : spec->tokens->rows;
    batch->ids = random_ids(random, &ids_at, tokens, &batch->id_type, (int64_t)vocab,
                            spec->bad_id != INLAY_BAD_ID_ERROR ? 4 : hostile_in, spec->padding_id);
    int64_t limit = spec->sinusoid != NULL    ? INLAY_POSITION_LIMIT
                    : spec->positions != NULL ? (int64_t)spec->positions->rows
                                              : 0;
    int64_t room = limit > (int64_t)longest ? limit - (int64_t)longest : 0;
    bool near = one_in(random, 2);
    batch->start = (int64_t)random_below(random, (uint64_t)room + 1);
    if (near && batch->start > 50)
        batch->start = one_in(random, 2) ? room : (int64_t)random_below(random, 50);
    if (one_in(random, 8))
        batch->start = (int64_t)random_below(random, 60) - 3;
    if (errors && one_in(random, 4))
        batch->start = hostile(random, limit) / 2;
    if (one_in(random, 4) && batch->sequences > 0) {
        unsigned char *starts = place(&starts_at, random, batch->sequences * 8);
        for (size_t b = 0; b < batch->sequences; b++) {
            int64_t start = (int64_t)random_below(random, (uint64_t)(near && room > 50 ? 50 : room) + 1);
            if (errors && one_in(random, 4))
                start = hostile(random, limit) / 2;
            put_id(starts, INLAY_ID_I64, b, start);
        }
        batch->starts = (const int64_t *)(const void *)starts;
    }
    if (limit > 0 && one_in(random, 4))
        batch->position_ids = random_ids(random, &listed_at, tokens, &batch->position_id_type,
                                      near && limit > 100 ? 100 : limit, hostile_in, -1);
    if (batch->position_ids == NULL)
        batch->position_id_type = (inlay_id_type)0;
    if (spec->segments != NULL && one_in(random, 2))
        batch->segment_ids = random_ids(random, &segment_ids_at, tokens, &batch->segment_id_type,
                                     (int64_t)spec->segments->rows, hostile_in, -1);
    if (batch->segment_ids == NULL)
        batch->segment_id_type = (inlay_id_type)0;
    if (spec->pooling != INLAY_POOLING_NONE && tokens > 0 && one_in(random, 2)) {
        unsigned char *weights = place(&weights_at, random, tokens * 4);
        random_rows(random, weights, 1, tokens, 0);
        batch->weights = weights;
    }
    if (spec->tokens->rows == vocab && one_in(random, 5)) {
        batch->dropout = one_in(random, 2) ? 0.5f : 0.1f;
        batch->dropout_key = random_bits(random);
        batch->dropout_offset = random_bits(random);
    }
    call->rows = spec->pooling != INLAY_POOLING_NONE ? batch->sequences
                 : batch->padded_length > 0          ? batch->sequences * batch->padded_length
                                                     : tokens;
    call->out_bytes = dim * (spec->out_type == INLAY_F32 ? 4 : 2);
    call->stride = call->out_bytes + (one_in(random, 3) ? random_below(random, 67) : 0);
    if (one_in(random, 4))
        call->stride = (call->out_bytes + 63) / 64 * 64;
}

static void draw_call(struct call *call, struct random *random, const struct extent_of_calls *size)
{
    static const size_t threads[] = {1, 2, 3, 7, SIZE_MAX};
    memset(call, 0, sizeof *call);
    size_t dim = size->dims[random_below(random, size->n_dims)];
    draw_layer(call, random, dim);
    size_t fit = size->out_bytes / (dim * 4 + 67);
    draw_batch(call, random, fit < size->tokens ? fit : size->tokens);
    call->executor =
        (inlay_executor){random, run_shuffled, threads[random_below(random, sizeof threads / sizeof *threads)]};
    call->threads = one_in(random, 2);
}

static bool same_rows(const unsigned char *a, const unsigned char *b, size_t bytes, inlay_element_type type)
{
    for (size_t at = 0; at < bytes; at += type == INLAY_F32 ? 4 : 2) {
        bool same = type == INLAY_F32   ? same_float(float_at(a + at, 0), float_at(b + at, 0))
                    : type == INLAY_F16 ? same_float(half_at(a + at), half_at(b + at))
                                        : same_float(brain_at(a + at), brain_at(b + at));
        if (!same)
            return false;
    }
    return true;
}

/* Whether the arenas of output and expectation hold the same: rows but for the payloads of NaN, other bytes exactly. */
static bool same_arenas(const struct call *call, const unsigned char *out, const unsigned char *expected)
{
    size_t bytes = (size_t)(out_at.end - out_at.begin);
    if (memcmp(out_at.begin, expected_at.begin, bytes) == 0)
        return true;
    for (size_t i = 0; i < call->rows; i++) {
        unsigned char *copy = expected_at.begin + (expected - expected_at.begin) + i * call->stride;
        const unsigned char *row = out + i * call->stride;
        if (!same_rows(row, copy, call->out_bytes, call->spec.out_type))
            return false;
        memcpy(copy, row, call->out_bytes);
    }
    return memcmp(out_at.begin, expected_at.begin, bytes) == 0;
}

static void describe(const struct call *call, char *text, size_t size)
{
    const inlay_layer_spec *spec = &call->spec;
    const inlay_batch *batch = &call->batch;
    snprintf(text, size,
             "dim %zu type %d rows %zu shard %zu/%zu scale %g %s%s held %zu pad %ld zero %d bad %d sub %ld number %d "
             "clamp %u norm %d pool %d out %d stores %d segments %d first %u; batch %zu x %zu ids %d offsets %d padded "
             "%zu start "
             "%ld starts %d listed %d weights %d dropout %g threads %zu stride %zu",
             spec->tokens->dim, (int)spec->tokens->type, spec->tokens->rows, spec->tokens->first_row,
             spec->tokens->vocab, (double)spec->scale, spec->sinusoid ? "sinusoid" : "",
             spec->positions ? "learned" : "", spec->cached_positions, (long)spec->padding_id, (int)spec->zero_rows,
             (int)spec->bad_id, (long)spec->substitute_id, (int)spec->position_mode, spec->clamp_positions, (int)spec->norm,
             (int)spec->pooling, (int)spec->out_type, (int)spec->stores, spec->segments != NULL, spec->segments_first,
             batch->sequences, batch->length, (int)batch->id_type, batch->offsets != NULL, batch->padded_length,
             (long)batch->start, batch->starts != NULL, batch->position_ids != NULL ? (int)batch->position_id_type : 0,
             batch->weights != NULL, (double)batch->dropout, call->threads ? call->executor.threads : 0, call->stride);
}

/* Runs a call in both ways; returns what it came to. */
static inlay_status compare(struct call *call, struct random *random, uint64_t seed)
{
    char text[1024];
    describe(call, text, sizeof text);
    size_t bytes = call->rows > 0 ? (call->rows - 1) * call->stride + call->out_bytes : 0;
    size_t room = (size_t)(out_at.end - out_at.begin) - bytes;
    static const size_t offsets[] = {0, 1, 4, 16, 32, 64};
    size_t offset = offsets[random_below(random, 6)];
    enum placement at = one_in(random, 2) || offset > room ? AT_END : INSIDE;
    unsigned char *out = arena_place(&out_at, bytes, at, offset);
    unsigned char *expected = arena_place(&expected_at, bytes, at, offset);
    inlay_layer *layer;
    inlay_status created = inlay_layer_create(&call->spec, NULL, &layer);
    EXPECT(created == INLAY_OK, "seed %lu: creation is \"%s\": %s", (unsigned long)seed, inlay_status_string(created),
           text);
    inlay_fault fault = {77, 77, 77}, wanted_fault = {77, 77, 77}, none = {77, 77, 77};
    inlay_status wanted = reference(&call->spec, &call->batch, expected, call->stride, &wanted_fault);
    inlay_status status =
        inlay_forward(layer, &call->batch, out, call->stride, call->threads ? &call->executor : NULL, &fault);
    inlay_layer_destroy(layer);
    EXPECT(status == wanted, "seed %lu: \"%s\", not \"%s\" ([%zu][%zu] = %ld, not [%zu][%zu] = %ld): %s",
           (unsigned long)seed, inlay_status_string(status), inlay_status_string(wanted), fault.sequence, fault.token,
           (long)fault.value, wanted_fault.sequence, wanted_fault.token, (long)wanted_fault.value, text);
    if (wanted == INLAY_OK)
        wanted_fault = none;
    EXPECT(memcmp(&fault, &wanted_fault, sizeof fault) == 0,
           "seed %lu: \"%s\" at [%zu][%zu] = %ld, not [%zu][%zu] = %ld: %s", (unsigned long)seed,
           inlay_status_string(status), fault.sequence, fault.token, (long)fault.value, wanted_fault.sequence,
           wanted_fault.token, (long)wanted_fault.value, text);
    EXPECT(same_arenas(call, out, expected), "seed %lu: other bytes: %s", (unsigned long)seed, text);
    inlay_sinusoid_destroy(call->sinusoid);
    return status;
}

static void compare_many(uint64_t first, uint64_t n, const struct extent_of_calls *size)
{
    unsigned long came_to[INLAY_ERROR_SEGMENT + 1] = {0};
    make_arenas_of(size->out_bytes + 100, size->dims[size->n_dims - 1]);
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct random random = {seed * UINT64_C(0x9e3779b97f4a7c15)};
        struct call call;
        draw_call(&call, &random, size);
        came_to[compare(&call, &random, seed)]++;
    }
    /* Calls that all fail, or never in some way, would prove little. */
    EXPECT(came_to[INLAY_OK] > n / 2 && came_to[INLAY_ERROR_ID] > 0 && came_to[INLAY_ERROR_POSITION] > 0,
           "%lu of %lu calls succeed", came_to[INLAY_OK], (unsigned long)n);
}

#define CALLS_OF(...) (const size_t[]){__VA_ARGS__}, sizeof(const size_t[]){__VA_ARGS__} / sizeof(size_t)

START_TEST(small_calls)
{
    const struct extent_of_calls size = {CALLS_OF(1, 2, 3, 8, 16, 17, 31, 32, 64, 64, 100, 128), 40, 24000};
    compare_many((uint64_t)_i * 2000, 2000, &size);
}
END_TEST

START_TEST(long_rows)
{
    const struct extent_of_calls size = {CALLS_OF(256, 511, 512, 513, 1024, 4096, 4352, 5000), 24, 200000};
    compare_many(1000000, 300, &size);
}
END_TEST

/* Rows longer than the buffer of stages: pieces of them begin where stored rows can be entered, however many tokens are
   under way together. */
START_TEST(segments_before_positions_in_long_rows)
{
    enum { LONG = 4352, VOCAB = 3, MOST = 9 };
    static unsigned char out[MOST * LONG * 4], expected[MOST * LONG * 4];
    struct random random = {41};
    make_arenas_of(sizeof out, LONG);
    inlay_sinusoid *sinusoid = make_sinusoid(LONG, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    for (size_t tokens = 1; tokens <= MOST; tokens++)
        for (int round = 0; round < 40; round++) {
            inlay_table table = random_table(&random, &tokens_at, VOCAB, LONG, true, true);
            inlay_table segments = random_table(&random, &segments_at, VOCAB, LONG, round % 2, false);
            inlay_layer_spec spec = inlay_layer_spec_default(&table);
            spec.segments = &segments;
            spec.segments_first = 1;
            spec.sinusoid = sinusoid;
            spec.cached_positions = (size_t)round % 3 * 3;
            spec.scale = 1.5f;
            int32_t ids[MOST], types[MOST];
            for (size_t i = 0; i < tokens; i++) {
                ids[i] = (int32_t)random_below(&random, VOCAB);
                types[i] = (int32_t)random_below(&random, VOCAB);
            }
            inlay_batch batch = inlay_batch_i32(ids, 1, tokens, 2);
            batch.segment_ids = types;
            batch.segment_id_type = INLAY_ID_I32;
            inlay_fault fault;
            inlay_layer *layer;
            ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
            ck_assert_int_eq(inlay_forward(layer, &batch, out, LONG * 4, NULL, NULL), INLAY_OK);
            inlay_layer_destroy(layer);
            ck_assert_int_eq(reference(&spec, &batch, expected, LONG * 4, &fault), INLAY_OK);
            for (size_t i = 0; i < tokens * LONG; i++)
                EXPECT(same_float(float_at(out, i), float_at(expected, i)),
                       "type %d, %zu tokens: token %zu, column %zu", (int)table.type, tokens, i / LONG, i % LONG);
        }
    inlay_sinusoid_destroy(sinusoid);
}
END_TEST

/* Of so many bytes that executors get parts. */
START_TEST(calls_in_parts)
{
    const struct extent_of_calls size = {CALLS_OF(64, 100, 256, 512), 1500, 700000};
    compare_many(2000000, strcmp(tested->name, "scalar") == 0 ? 60 : 300, &size);
}
END_TEST

/* The sum of what the shards of a table write is what the whole table writes. */
START_TEST(shards_add_up)
{
    static const size_t dims[] = {1, 3, 16, 100, 512};
    enum { VOCAB = 11, TOKENS = 60, BYTES = TOKENS * 512 * 4 };
    static float whole[TOKENS * 512], part[TOKENS * 512], sum[TOKENS * 512];
    static float rows[VOCAB * 512], learned_rows[TOKENS * 512];
    struct random random = {77};
    for (int round = 0; round < 400; round++) {
        size_t dim = dims[random_below(&random, 5)];
        random_rows(&random, (unsigned char *)rows, VOCAB, dim, dim * 4);
        random_rows(&random, (unsigned char *)learned_rows, TOKENS, dim, dim * 4);
        inlay_table table = inlay_table_f32(rows, VOCAB, dim), learned = inlay_table_f32(learned_rows, TOKENS, dim);
        inlay_layer_spec spec = inlay_layer_spec_default(&table);
        inlay_sinusoid *sinusoid = make_sinusoid(dim, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
        uint64_t kind = random_below(&random, 4);
        spec.sinusoid = kind == 1 || kind == 2 ? sinusoid : NULL;
        spec.cached_positions = kind == 1 ? 0 : 30;
        spec.positions = kind == 3 ? &learned : NULL;
        spec.scale = one_in(&random, 2) ? -2.5f : 1;
        spec.padding_id = one_in(&random, 2) ? (int64_t)random_below(&random, VOCAB) : -1;
        spec.zero_rows = (inlay_zero_rows)random_below(&random, 2);
        spec.bad_id = (inlay_bad_id)random_below(&random, 4);
        spec.substitute_id = (int64_t)random_below(&random, VOCAB);
        if (kind > 0 && spec.padding_id >= 0 && one_in(&random, 2))
            spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
        int32_t ids[TOKENS];
        for (size_t i = 0; i < TOKENS; i++) {
            ids[i] = (int32_t)random_below(&random, VOCAB);
            if (spec.bad_id != INLAY_BAD_ID_ERROR && one_in(&random, 5))
                ids[i] = one_in(&random, 2) ? VOCAB : -1;
        }
        inlay_batch batch = inlay_batch_i32(ids, 3, TOKENS / 3, 1);
        inlay_layer *layer;
        ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
        ck_assert_int_eq(inlay_forward(layer, &batch, whole, dim * 4, NULL, NULL), INLAY_OK);
        inlay_layer_destroy(layer);
        size_t shards = 2 + random_below(&random, 3), first = 0;
        for (size_t i = 0; i < shards; i++) {
            size_t n = i + 1 < shards ? random_below(&random, VOCAB + 1 - first) : VOCAB - first;
            inlay_table shard = inlay_table_f32(n > 0 ? rows + first * dim : NULL, n, dim);
            shard.first_row = first;
            shard.vocab = VOCAB;
            first += n;
            inlay_layer_spec own = spec;
            own.tokens = &shard;
            ck_assert_int_eq(inlay_layer_create(&own, NULL, &layer), INLAY_OK);
            ck_assert_int_eq(inlay_forward(layer, &batch, part, dim * 4, NULL, NULL), INLAY_OK);
            inlay_layer_destroy(layer);
            for (size_t at = 0; at < TOKENS * dim; at++)
                sum[at] = i > 0 ? sum[at] + part[at] : part[at];
        }
        for (size_t at = 0; at < TOKENS * dim; at++)
            EXPECT(same_float(sum[at], whole[at]), "round %d: %zu shards, token %zu, column %zu: %a, not %a", round,
                   shards, at / dim, at % dim, (double)sum[at], (double)whole[at]);
        inlay_sinusoid_destroy(sinusoid);
    }
}
END_TEST

/* What fairseq, RoBERTa and OPT number, by hand. */
START_TEST(numbers_of_frameworks)
{
    enum { SEQ = 5, PAD = 1 };
    static const struct {
        int64_t start;
        int32_t ids[SEQ];
        float positions[SEQ];
    } cases[] = {
        {PAD + 1, {0, 5, 6, 7, 2}, {2, 3, 4, 5, 6}},     {PAD + 1, {0, 5, 2, PAD, PAD}, {2, 3, 4, 1, 1}},
        {PAD + 1, {PAD, PAD, 0, 5, 2}, {1, 1, 2, 3, 4}}, {PAD + 1, {0, PAD, 5, PAD, 2}, {2, 1, 3, 1, 4}},
        {2, {PAD, PAD, PAD, PAD, PAD}, {1, 1, 1, 1, 1}}, {2, {PAD, 2, 100, 7, 8}, {1, 2, 3, 4, 5}},
    };
    static float zeros[200], numbers[12];
    for (int i = 0; i < 12; i++)
        numbers[i] = (float)i;
    inlay_table tokens = inlay_table_f32(zeros, 200, 1), positions = inlay_table_f32(numbers, 12, 1);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &positions;
    spec.padding_id = PAD;
    spec.zero_rows = INLAY_ZERO_ROWS_POSITIONED;
    spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
    inlay_layer *layer;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float out[SEQ];
        inlay_batch batch = inlay_batch_i32(cases[i].ids, 1, SEQ, cases[i].start);
        ck_assert_int_eq(inlay_forward(layer, &batch, out, 4, NULL, NULL), INLAY_OK);
        EXPECT(memcmp(out, cases[i].positions, sizeof out) == 0, "case %zu: %g %g %g %g %g", i, (double)out[0],
               (double)out[1], (double)out[2], (double)out[3], (double)out[4]);
    }
    inlay_layer_destroy(layer);
}
END_TEST

/* ---- What another thread rewrites meanwhile ---- */

static _Atomic bool stop_rewriting;

struct rewritten {
    void *at[5]; /* int64: offsets, starts, listed positions, ids, segments; against guard pages */
    size_t n[5];
    int64_t good[5];
};

static void *rewrite_all(void *arg)
{
    const struct rewritten *all = arg;
    static const int64_t values[] = {0, -1, 1, 3, INT64_MIN, 7, 29, 30, INT64_MAX, 12, INT64_C(1) << 31, 18};
    for (unsigned i = 0; !atomic_load_explicit(&stop_rewriting, memory_order_relaxed); i++)
        for (int which = 0; which < 5; which++) {
            /* Mostly good, so that calls pass their checks. */
            int64_t value = i % 8 != 0 ? all->good[which] + (which == 0) * (int64_t)(i % all->n[0]) * 6
                                       : values[i / 8 % (sizeof values / sizeof *values)];
            __atomic_store_n((int64_t *)all->at[which] + i % all->n[which], value, __ATOMIC_RELAXED);
        }
    return NULL;
}

START_TEST(rewritten_batches_stay_in_their_arrays)
{
    enum { DIM = 64, SEQUENCES = 5, LENGTH = 30, ROWS = 9, CALLS = 6000 };
    struct random random = {3};
    struct arena table = arena_make(ROWS * DIM * 4), learned = arena_make(LENGTH * DIM * 4),
                 out = arena_make(SEQUENCES * LENGTH * DIM * 4), arrays[5];
    struct rewritten all = {.n = {SEQUENCES + 1, SEQUENCES, LENGTH, LENGTH, LENGTH}};
    for (int i = 0; i < 5; i++) {
        arrays[i] = arena_make(all.n[i] * 8);
        all.at[i] = arena_place(&arrays[i], all.n[i] * 8, AT_END, 0);
        memset(all.at[i], 0, all.n[i] * 8);
    }
    inlay_table tokens = inlay_table_f32(arena_place(&table, ROWS * DIM * 4, AT_END, 0), ROWS, DIM);
    inlay_table positions = inlay_table_f32(arena_place(&learned, LENGTH * DIM * 4, AT_END, 0), LENGTH, DIM);
    inlay_sinusoid *sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, rewrite_all, &all), 0);
    unsigned long came_to[INLAY_ERROR_SEGMENT + 1] = {0};
    for (int call = 0; call < CALLS; call++) {
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        bool formula = one_in(&random, 2);
        spec.sinusoid = formula ? sinusoid : NULL;
        spec.positions = formula ? NULL : &positions;
        spec.cached_positions = random_below(&random, 20);
        inlay_tuning tuning = inlay_tuning_default();
        tuning.compute_bytes = one_in(&random, 2) ? 0 : SIZE_MAX;
        tuning.l2_bytes = one_in(&random, 2) ? 0 : SIZE_MAX;
        spec.tuning = &tuning;
        spec.stores = (inlay_stores)random_below(&random, 3);
        spec.bad_id = (inlay_bad_id)random_below(&random, 5);
        spec.padding_id = one_in(&random, 4) ? 3 : -1;
        spec.segments = one_in(&random, 4) ? &tokens : NULL;
        spec.segments_first = spec.segments != NULL && one_in(&random, 2);
        spec.clamp_positions = !formula && one_in(&random, 3);
        if (spec.padding_id >= 0 && one_in(&random, 2))
            spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
        if (one_in(&random, 8)) {
            spec.pooling = INLAY_POOLING_SUM;
            spec.sinusoid = NULL;
            spec.positions = spec.segments = NULL;
            spec.segments_first = spec.clamp_positions = 0;
            spec.position_mode = INLAY_POSITION_MODE_SEQUENTIAL;
        }
        bool positioned = spec.sinusoid != NULL || spec.positions != NULL;
        inlay_batch batch = inlay_batch_i64(all.at[3], SEQUENCES, LENGTH / SEQUENCES, 0);
        if (!one_in(&random, 3)) {
            batch.offsets = all.at[0];
            batch.length = LENGTH;
            batch.padded_length = spec.pooling == INLAY_POOLING_NONE && one_in(&random, 2) ? LENGTH : 0;
        }
        if (one_in(&random, 2))
            batch.starts = all.at[1];
        if (positioned && one_in(&random, 4)) {
            batch.position_ids = all.at[2];
            batch.position_id_type = INLAY_ID_I64;
        }
        if (spec.segments != NULL && one_in(&random, 2)) {
            batch.segment_ids = all.at[4];
            batch.segment_id_type = INLAY_ID_I64;
        }
        size_t rows = spec.pooling != INLAY_POOLING_NONE ? SEQUENCES
                      : batch.padded_length > 0          ? SEQUENCES * LENGTH
                                                         : LENGTH;
        size_t stride = DIM * 4 + (one_in(&random, 2) ? 16 : 0);
        if (rows * stride > (size_t)(out.end - out.begin))
            stride = DIM * 4;
        size_t bytes = (rows - 1) * stride + DIM * 4;
        unsigned char *to = arena_place(&out, bytes, one_in(&random, 2) ? AT_END : AT_BEGIN, 0);
        inlay_layer *layer;
        ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
        inlay_fault fault;
        came_to[inlay_forward(layer, &batch, to, stride, NULL, &fault)]++;
        EXPECT(arena_untouched_outside(&out, to, rows, stride, DIM * 4), "call %d wrote outside its rows", call);
        inlay_layer_destroy(layer);
    }
    atomic_store(&stop_rewriting, true);
    pthread_join(thread, NULL);
    EXPECT(came_to[INLAY_OK] > 0 && came_to[INLAY_ERROR_OFFSETS] > 0, "%lu calls succeed, %lu do not for their offsets",
           came_to[INLAY_OK], came_to[INLAY_ERROR_OFFSETS]);
    inlay_sinusoid_destroy(sinusoid);
}
END_TEST

/* Subnormal options are looked at in the host's environment: as bits, which raise nothing there. */
START_TEST(subnormal_options_raise_nothing)
{
    static float row[4] = {1, 2, 3, 4};
    const int32_t ids[2] = {0, 0};
    inlay_table tokens = inlay_table_f32(row, 1, 4);
    for (int flush = 0; flush < 2; flush++) {
        float out[8];
        inlay_layer *layer;
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0);
        spec.norm = INLAY_NORM_RMS;
        spec.epsilon = 0x1p-149f;
        batch.dropout = 0x1p-149f;
        set_flush(flush);
        feclearexcept(FE_ALL_EXCEPT);
#ifdef __x86_64__
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x3fu); /* that of subnormals too */
#endif
        inlay_status created = inlay_layer_create(&spec, NULL, &layer);
        inlay_status status = inlay_forward(layer, &batch, out, sizeof row, NULL, NULL);
#ifdef __x86_64__
        unsigned raised = __builtin_ia32_stmxcsr() & 0x3f;
#else
        int raised = fetestexcept(FE_ALL_EXCEPT);
#endif
        set_flush(false);
        inlay_layer_destroy(layer);
        EXPECT(created == INLAY_OK && status == INLAY_OK && raised == 0, "flush %d: statuses %d, %d, flags %x", flush,
               created, status, (unsigned)raised);
    }
}
END_TEST

/* An executor during whose run another thread, as it were, rewrites what the batch points to: all of it, so that no
   value is what it was when it was checked. */
struct rewriter {
    struct call *call;
    struct random *random;
};

static void rewrite_some(struct random *random, const void *ids, inlay_id_type type, size_t n, int64_t limit)
{
    unsigned char *to = (unsigned char *)(uintptr_t)ids;
    for (size_t i = 0; ids != NULL && i < n; i++)
        if (one_in(random, 2))
            put_id(to, type, i,
                   one_in(random, 2) ? hostile(random, limit) : (int64_t)random_below(random, (uint64_t)limit + 2));
}

static void run_rewritten(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    const struct rewriter *rewriter = ctx;
    const inlay_batch *batch = &rewriter->call->batch;
    struct random *random = rewriter->random;
    size_t tokens = batch->offsets != NULL ? batch->length : batch->sequences * batch->length;
    for (size_t i = 0; i < count; i++) {
        rewrite_some(random, batch->ids, batch->id_type, tokens, MAX_TABLE_ROWS);
        rewrite_some(random, batch->position_ids, batch->position_id_type, tokens, MAX_TABLE_ROWS);
        rewrite_some(random, batch->segment_ids, batch->segment_id_type, tokens, 3);
        rewrite_some(random, batch->starts, INLAY_ID_I64, batch->sequences, MAX_TABLE_ROWS);
        if (batch->offsets != NULL)
            rewrite_some(random, batch->offsets, INLAY_ID_I64, batch->sequences + 1, (int64_t)tokens);
        task(arg, i);
    }
}

START_TEST(rewritten_between_check_and_use)
{
    const struct extent_of_calls size = {CALLS_OF(64, 100, 256, 512), 1500, 700000};
    unsigned long parts = 0;
    make_arenas_of(size.out_bytes + 100, 512);
    for (uint64_t seed = 0; seed < (strcmp(tested->name, "scalar") == 0 ? 100 : 600); seed++) {
        struct random random = {seed + 3000000};
        struct call call;
        draw_call(&call, &random, &size);
        struct rewriter rewriter = {&call, &random};
        inlay_executor executor = {&rewriter, run_rewritten, 4};
        size_t bytes = call.rows > 0 ? (call.rows - 1) * call.stride + call.out_bytes : 0;
        unsigned char *out = arena_place(&out_at, bytes, one_in(&random, 2) ? AT_END : AT_BEGIN, 0);
        inlay_layer *layer;
        ck_assert_int_eq(inlay_layer_create(&call.spec, NULL, &layer), INLAY_OK);
        inlay_fault fault;
        inlay_status status = inlay_forward(layer, &call.batch, out, call.stride, &executor, &fault);
        parts += status == INLAY_OK && bytes >= 2 * 65536;
        EXPECT(arena_untouched_outside(&out_at, out, call.rows, call.stride, call.out_bytes),
               "seed %lu wrote outside its rows", (unsigned long)seed);
        inlay_layer_destroy(layer);
        inlay_sinusoid_destroy(call.sinusoid);
    }
    EXPECT(parts > 10, "%lu calls were cut into parts", parts);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("batch");
    TCase *calls = tcase_create("calls");
    tcase_set_timeout(calls, 600);
    tcase_add_loop_test(calls, small_calls, 0, 8);
    tcase_add_test(calls, long_rows);
    tcase_add_test(calls, segments_before_positions_in_long_rows);
    tcase_add_test(calls, calls_in_parts);
    tcase_add_test(calls, shards_add_up);
    tcase_add_test(calls, numbers_of_frameworks);
    tcase_add_test(calls, rewritten_batches_stay_in_their_arrays);
    tcase_add_test(calls, subnormal_options_raise_nothing);
    tcase_add_test(calls, rewritten_between_check_and_use);
    suite_add_tcase(suite, calls);
    return run_suite(argc, argv, suite);
}
