/* SPDX-License-Identifier: MIT */
/*
 * The public function that stores a float32 table in another type. Numbers are chosen in double and rounded once to the
 * type that holds them; what the kernels in use decode is compared with what there was.
 */
#include "dispatch/dispatch.h"
#include "base/fpenv.h"
#include "dispatch/kernels.h"
#include "base/rounding.h"
#include "base/executor.h"
#include "table/view.h"

#include <string.h>

enum { BLOCK = 32 };

/* One row, and where it goes. */
struct quantizing {
    const unsigned char *from; /* float32, any address */
    unsigned char *to, *scales, *zeros;
    size_t dim, group;
};

/* A whole call: run in the guarded environment by the function that it points to. */
struct storing {
    void (*store)(struct storing *storing);
    const struct inlay_kernels *kernels;
    const inlay_table *from, *to; /* `to` is the view of what is written below */
    const inlay_table_storage *storage;
    double largest_error;
};

static uint32_t bits_at(const unsigned char *row, size_t column)
{
    uint32_t bits;
    memcpy(&bits, row + column * sizeof bits, sizeof bits);
    return bits;
}

static double value_at(const unsigned char *row, size_t column)
{
    float value;
    memcpy(&value, row + column * sizeof value, sizeof value);
    return value;
}

static void put_float(unsigned char *to, size_t index, double x)
{
    float value = (float)x;
    memcpy(to + index * sizeof value, &value, sizeof value);
}

static void put_half(unsigned char *to, size_t index, uint16_t half)
{
    memcpy(to + index * sizeof half, &half, sizeof half);
}

/* What inlay_float_to_f16 leaves out: numbers that round to infinity, infinity, NaN. */
static uint16_t any_float_to_f16(uint32_t bits)
{
    const uint32_t magnitude = bits & INT32_MAX, infinite = 0x7f800000, beyond = 0x477ff000; /* 65520 */
    if (magnitude < beyond)
        return inlay_float_to_f16(bits);
    return (uint16_t)(bits >> 31 << 15 | (magnitude > infinite ? 0x7e00 : 0x7c00));
}

static uint16_t any_float_to_bf16(uint32_t bits)
{
    bool nan = (bits & INT32_MAX) > 0x7f800000;
    return nan ? (uint16_t)(bits >> 16 | 0x40) : inlay_float_to_bf16(bits);
}

static uint16_t to_half(double x)
{
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return any_float_to_f16(bits);
}

/* A finite float16. */
static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0 ? fraction : (double)(1024 + fraction) * (double)(1 << (exponent - 1));
    return (half >> 15 ? -magnitude : magnitude) * 0x1p-24;
}

/* To the nearest integer, of ties to the even one. */
static double nearest(double x)
{
    const double magic = 0x1.8p52; /* leaves no bits for a fraction */
    return x + magic - magic;
}

static double clamped(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The extremes of columns [first, first + n); `least` and `most` of them may be the same. */
struct range {
    double least, most;
};

static struct range range_of(const unsigned char *row, size_t first, size_t n)
{
    struct range range = {value_at(row, first), value_at(row, first)};
    for (size_t i = first + 1; i < first + n; i++) {
        double x = value_at(row, i);
        range.least = x < range.least ? x : range.least;
        range.most = x > range.most ? x : range.most;
    }
    return range;
}

static double largest_magnitude(const unsigned char *row, size_t first, size_t n)
{
    struct range range = range_of(row, first, n);
    return -range.least > range.most ? -range.least : range.most;
}

/* Two 4-bit numbers in a byte, the lower one first. */
static void put_nibble(unsigned char *to, size_t index, double q)
{
    unsigned char *byte = to + index / 2, number = (unsigned char)q;
    *byte = index % 2 == 0 ? number : (unsigned char)(*byte | number << 4);
}

/* Below this a float32 loses digits, and its reciprocal may be none. */
static const double least_step = 0x1p-126;

/* A scale that serves to divide by: 1 where all is zero. */
static double step_of(double range, double steps)
{
    double step = (float)(range / steps);
    return range == 0 ? 1 : step < least_step ? least_step : step;
}

static void store_f32(const struct quantizing *row)
{
    memcpy(row->to, row->from, row->dim * sizeof(float));
}

static void store_f16(const struct quantizing *row)
{
    for (size_t i = 0; i < row->dim; i++)
        put_half(row->to, i, any_float_to_f16(bits_at(row->from, i)));
}

static void store_bf16(const struct quantizing *row)
{
    for (size_t i = 0; i < row->dim; i++)
        put_half(row->to, i, any_float_to_bf16(bits_at(row->from, i)));
}

static void put_i8(unsigned char *to, double q)
{
    *to = (unsigned char)(signed char)clamped(q, -127, 127);
}

static void store_i8(const struct quantizing *row)
{
    double step = step_of(largest_magnitude(row->from, 0, row->dim), 127);
    put_float(row->scales, 0, step);
    for (size_t i = 0; i < row->dim; i++)
        put_i8(row->to + i, nearest(value_at(row->from, i) / step));
}

static void store_i8_inverse(const struct quantizing *row)
{
    double magnitude = largest_magnitude(row->from, 0, row->dim), scale = magnitude == 0 ? 1 : 127 / magnitude;
    scale = scale < 1 / least_step ? (float)scale : 1 / least_step;
    put_float(row->scales, 0, scale);
    for (size_t i = 0; i < row->dim; i++)
        put_i8(row->to + i, nearest(value_at(row->from, i) * scale));
}

static void store_u8_rowwise(const struct quantizing *row)
{
    struct range range = range_of(row->from, 0, row->dim);
    double step = step_of(range.most - range.least, 255);
    put_float(row->to + row->dim, 0, step);
    put_float(row->to + row->dim, 1, range.least);
    for (size_t i = 0; i < row->dim; i++)
        row->to[i] = (unsigned char)clamped(nearest((value_at(row->from, i) - range.least) / step), 0, 255);
}

static void store_u4_rowwise(const struct quantizing *row)
{
    const uint16_t one = 0x3c00;
    struct range range = range_of(row->from, 0, row->dim);
    unsigned char *pair = row->to + (row->dim + 1) / 2;
    uint16_t bias_half = to_half(range.least), step_half = to_half((range.most - range.least) / 15);
    step_half = step_half == 0 ? one : step_half;
    double bias = half_value(bias_half), step = half_value(step_half);
    for (size_t i = 0; i < row->dim; i++)
        put_nibble(row->to, i, clamped(nearest((value_at(row->from, i) - bias) / step), 0, 15));
    put_half(pair, 0, step_half);
    put_half(pair, 1, bias_half);
}

static void store_u4_grouped(const struct quantizing *row)
{
    for (size_t group = 0; group < row->dim / row->group; group++) {
        size_t first = group * row->group;
        double step, zero = 8;
        if (row->zeros != NULL) {
            /* Zero is among the values, so that its number is one of 16. */
            struct range range = range_of(row->from, first, row->group);
            range.least = range.least < 0 ? range.least : 0;
            range.most = range.most > 0 ? range.most : 0;
            step = step_of(range.most - range.least, 15);
            zero = clamped(nearest(-range.least / step), 0, 15);
            put_nibble(row->zeros, group, zero);
        } else {
            step = step_of(largest_magnitude(row->from, first, row->group), 7);
        }
        put_float(row->scales, group, step);
        for (size_t i = first; i < first + row->group; i++)
            put_nibble(row->to, i, clamped(nearest(value_at(row->from, i) / step) + zero, 0, 15));
    }
}

/* As quantize_row_q8_0_ref of ggml: numbers are those of the scale before it is rounded. */
static void store_q8_0(const struct quantizing *row)
{
    for (size_t first = 0; first < row->dim; first += BLOCK) {
        unsigned char *block = row->to + first / BLOCK * (BLOCK + 2);
        const float d = (float)largest_magnitude(row->from, first, BLOCK) / 127;
        const uint16_t half = to_half(d);
        const float inverse = half != 0 ? 1 / d : 0;
        put_half(block, 0, half);
        for (size_t i = 0; i < BLOCK; i++) {
            float scaled = (float)value_at(row->from, first + i) * inverse;
            /* Ties away from zero. */
            put_i8(block + 2 + i, (double)(int)((double)scaled + (scaled < 0 ? -0.5 : 0.5)));
        }
    }
}

/* As quantize_row_q4_0_ref of ggml: the value that is largest in magnitude becomes -8, whatever its sign. */
static void store_q4_0(const struct quantizing *row)
{
    for (size_t first = 0; first < row->dim; first += BLOCK) {
        unsigned char *block = row->to + first / BLOCK * (BLOCK / 2 + 2), q[BLOCK];
        float extreme = 0;
        for (size_t i = 0; i < BLOCK; i++) {
            float x = (float)value_at(row->from, first + i);
            extreme = (x < 0 ? -x : x) > (extreme < 0 ? -extreme : extreme) ? x : extreme;
        }
        const float d = extreme / -8;
        const uint16_t half = to_half(d);
        const float inverse = (half & INT16_MAX) != 0 ? 1 / d : 0;
        put_half(block, 0, half);
        for (size_t i = 0; i < BLOCK; i++) {
            float scaled = (float)value_at(row->from, first + i) * inverse;
            q[i] = (unsigned char)clamped((double)(scaled + 8.5f), 0, 15);
        }
        for (size_t i = 0; i < BLOCK / 2; i++)
            block[2 + i] = (unsigned char)(q[i] | q[i + BLOCK / 2] << 4);
    }
}

static void (*const store_row[INLAY_ELEMENT_TYPES])(const struct quantizing *row) = {
    [INLAY_F32] = store_f32,
    [INLAY_F16] = store_f16,
    [INLAY_BF16] = store_bf16,
    [INLAY_I8] = store_i8,
    [INLAY_I8_INVERSE] = store_i8_inverse,
    [INLAY_U8_ROWWISE] = store_u8_rowwise,
    [INLAY_U4_ROWWISE] = store_u4_rowwise,
    [INLAY_U4_GROUPED] = store_u4_grouped,
    [INLAY_Q8_0] = store_q8_0,
    [INLAY_Q4_0] = store_q4_0,
};

/* The largest error of a row, by the kernel that will read it, some columns at a time. */
static double error_of(const struct storing *storing, const struct quantizing *row, size_t index, double largest)
{
    enum { COLUMNS = 256 };
    const inlay_table *to = storing->to;
    unsigned char decoded[COLUMNS * sizeof(float)];
    for (size_t first = 0; first < to->dim; first += COLUMNS) {
        size_t columns = to->dim - first < COLUMNS ? to->dim - first : COLUMNS;
        struct inlay_stored stored = inlay_stored_at(to, index, first);
        unsigned char *out = decoded;
        const struct inlay_embed_tile tile = {
            .rows = &stored.row,
            .scales = &stored.scales,
            .zeros = stored.zeros != NULL ? &stored.zeros : NULL,
            .group = to->group,
            .out = &out,
            .count = 1,
            .columns = columns,
            .scale = 1,
        };
        storing->kernels->embed[to->type](&tile);
        for (size_t i = 0; i < columns; i++) {
            double x = value_at(row->from, first + i), y = value_at(decoded, i);
            /* Not of infinities that stay what they are, nor of NaN. */
            double error = x == y ? 0 : x < y ? y - x : x - y;
            largest = error > largest ? error : largest;
        }
    }
    return largest;
}

static __attribute__((noinline)) void store_rows(struct storing *storing)
{
    const inlay_table *from = storing->from, *to = storing->to;
    const inlay_table_storage *storage = storing->storage;
    size_t groups = to->type == INLAY_U4_GROUPED ? to->dim / to->group : 1, zero_bytes = (groups + 1) / 2;
    for (size_t i = 0; i < to->rows; i++) {
        struct quantizing row = {
            .from = (const unsigned char *)from->data + i * from->stride_bytes,
            .to = (unsigned char *)storage->data + i * to->stride_bytes,
            .scales = to->scales != NULL ? (unsigned char *)storage->scales + i * groups * sizeof(float) : NULL,
            .zeros = to->zeros != NULL ? (unsigned char *)storage->zeros + i * zero_bytes : NULL,
            .dim = to->dim,
            .group = to->group,
        };
        store_row[to->type](&row);
        storing->largest_error = error_of(storing, &row, i, storing->largest_error);
    }
}

static void run(void *arg, size_t index)
{
    (void)index;
    struct storing *storing = arg;
    struct inlay_fpenv host = inlay_fpenv_enter();
    storing->store(storing);
    inlay_fpenv_leave(host);
}

/* The bits of the largest magnitude that a type stores. */
static uint32_t limit_of(inlay_element_type type)
{
    switch (type) {
    case INLAY_F32:
    case INLAY_F16:
    case INLAY_BF16:
        return UINT32_MAX;
    case INLAY_U4_ROWWISE:
    case INLAY_Q8_0:
    case INLAY_Q4_0:
        return 0x477fe000; /* 65504, the largest float16 */
    default:
        return 0x7e800000; /* 2^126 */
    }
}

static bool within_limit(const inlay_table *rows, uint32_t limit)
{
    for (size_t i = 0; i < rows->rows; i++)
        for (size_t column = 0; column < rows->dim; column++)
            if ((bits_at((const unsigned char *)rows->data + i * rows->stride_bytes, column) & INT32_MAX) > limit)
                return false;
    return true;
}

/* The view of what a storage will hold. */
static inlay_table view_of(const inlay_table *from, const inlay_table_storage *to)
{
    inlay_table view = inlay_table_of(to->type, to->data, from->rows, from->dim, to->stride_bytes);
    view.group = to->group;
    view.scales = to->scales;
    view.zeros = to->zeros;
    return view;
}

inlay_status inlay_table_quantize(const inlay_table *from, const inlay_table_storage *to, inlay_table *view,
                                  double *largest_error)
{
    if (from == NULL || to == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(to, sizeof *to))
        return INLAY_ERROR_OPTION;
    const inlay_table made = view_of(from, to);
    struct inlay_table_extents read, written;
    inlay_status status = inlay_check_table(from, &read);
    if (status == INLAY_OK)
        status = inlay_check_table(&made, &written);
    if (status != INLAY_OK)
        return status;
    if (from->type != INLAY_F32 || from->vocab > 0)
        return INLAY_ERROR_OPTION;
    if (inlay_table_overlaps(read.data, &written) || inlay_extents_overlap(written.data, written.scales) ||
        inlay_extents_overlap(written.data, written.zeros) || inlay_extents_overlap(written.scales, written.zeros))
        return INLAY_ERROR_OVERLAP;
    if (!within_limit(from, limit_of(to->type)))
        return INLAY_ERROR_OPTION;
    struct storing storing = {store_rows, inlay_dispatch(), from, &made, to, 0};
    inlay_run_parts(NULL, 1, run, &storing);
    if (view != NULL)
        *view = made;
    if (largest_error != NULL)
        memcpy(largest_error, &storing.largest_error, sizeof *largest_error);
    return INLAY_OK;
}
