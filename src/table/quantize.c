/* SPDX-License-Identifier: MIT */
/*
 * Conversion of a float32 table to another element type. Numbers are chosen in double and rounded once to the stored
 * type. The largest error is measured on the values that the kernels dequantize.
 */
#include "table/quantize.h"

#include "base/fpenv.h"
#include "base/minmax.h"
#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"
#include "table/view.h"

/* Writes a 4-bit number, two in a byte, the lower half first. Even indices also clear the upper half, so numbers must
   be written in ascending order. */
static void put_nibble(unsigned char *to, size_t index, double q)
{
    unsigned char *byte = to + index / 2, number = (unsigned char)q;
    *byte = index % 2 == 0 ? number : (unsigned char)(*byte | number << 4);
}

/* Below this a float32 loses digits, and its reciprocal may be infinite. */
static const double min_step = 0x1p-126;

enum { LARGEST_E4M3 = 448 };

/* Returns a scale that is safe to divide by: 1 if all values are zero. */
static double step_of(double range, double steps)
{
    double step = (float)(range / steps);
    return range == 0 ? 1 : step < min_step ? min_step : step;
}

static void quantize_float(const struct row *row)
{
    inlay_embed_floats(inlay_dispatch(), row->from, NULL, row->to, row->type, row->dim, 1, false);
}

/* Computes and stores the scale of a row whose largest magnitude becomes `steps`; 1 if the table has no scales. */
static double row_step(const struct row *row, double steps)
{
    if (row->scales == NULL)
        return 1;
    double step = step_of(magnitude_of(range_of(row->from, 0, row->dim)), steps);
    inlay_store_f32(row->scales, 0, (float)step);
    return step;
}

static void quantize_i8(const struct row *row)
{
    double step = row_step(row, 127);
    for (size_t i = 0; i < row->dim; i++)
        row->to[i] = (unsigned char)(signed char)clamped(nearest(value_at(row->from, i) / step), -127, 127);
}

static void quantize_i8_inverse(const struct row *row)
{
    double magnitude = magnitude_of(range_of(row->from, 0, row->dim)), scale = magnitude == 0 ? 1 : 127 / magnitude;
    scale = scale < 1 / min_step ? (float)scale : 1 / min_step;
    inlay_store_f32(row->scales, 0, (float)scale);
    for (size_t i = 0; i < row->dim; i++)
        row->to[i] = (unsigned char)(signed char)clamped(nearest(value_at(row->from, i) * scale), -127, 127);
}

static void quantize_u8_rowwise(const struct row *row)
{
    struct range range = range_of(row->from, 0, row->dim);
    double step = step_of(range.most - range.least, 255);
    inlay_store_f32(row->scales, 0, (float)step);
    inlay_store_f32(row->scales, 1, (float)range.least);
    for (size_t i = 0; i < row->dim; i++)
        row->to[i] = (unsigned char)clamped(nearest((value_at(row->from, i) - range.least) / step), 0, 255);
}

/* Rows with a float16 scale and bias, which are the row's scales. */
static void quantize_rowwise(const struct row *row)
{
    const struct inlay_row_format *format = &inlay_row_formats[row->type];
    const uint16_t one = 0x3c00;
    const unsigned bits = format->block_bytes * 8u >> format->log2_columns;
    const double most = (1 << bits) - 1;
    struct range range = range_of(row->from, 0, row->dim);
    uint16_t bias_half = to_half(range.least), step_half = to_half((range.most - range.least) / most);
    step_half = step_half == 0 ? one : step_half;
    double bias = half_value(bias_half), step = half_value(step_half);
    memset(row->to, 0, (row->dim * bits + 7) / 8);
    for (size_t i = 0; i < row->dim; i++) {
        const unsigned q = (unsigned)clamped(nearest((value_at(row->from, i) - bias) / step), 0, most);
        row->to[i * bits / 8] = (unsigned char)(row->to[i * bits / 8] | q << i * bits % 8);
    }
    put_half(row->scales, 0, step_half);
    put_half(row->scales, 1, bias_half);
}

/* Writes a number of a grouped type, or a zero point. */
static void put_grouped(const struct row *row, unsigned char *to, size_t index, double q)
{
    if (inlay_row_formats[row->type].log2_columns == 1)
        put_nibble(to, index, q);
    else
        to[index] = (unsigned char)(int)q;
}

static void quantize_grouped(const struct row *row)
{
    const bool flat = row->type == INLAY_U4_GROUPED_FLAT, is_signed = row->type == INLAY_I8_GROUPED;
    const double least = is_signed ? -128 : 0, most = is_signed ? 127 : row->type == INLAY_U8_GROUPED ? 255 : 15;
    for (size_t group = 0, first = 0; first < row->dim; group++, first += row->group) {
        const size_t count = inlay_min(row->group, row->dim - first);
        struct range range = range_of(row->from, first, count);
        double step, zero = flat || is_signed ? 0 : (most + 1) / 2;
        if (row->zeros != NULL) {
            /* 0 counts as one of the values, so the zero point is in the type's range. */
            range.least = range.least < 0 ? range.least : 0;
            range.most = range.most > 0 ? range.most : 0;
            step = step_of(range.most - range.least, most - least);
            zero = clamped(nearest(-range.least / step) + least, least, most);
            put_grouped(row, row->zeros, row->first_zero + group, zero);
        } else {
            step = step_of(flat ? range.most : magnitude_of(range), most - zero);
        }
        inlay_store_f32(row->scales, group, (float)step);
        for (size_t i = first; i < first + count; i++)
            put_grouped(row, row->to, i, clamped(nearest(value_at(row->from, i) / step) + zero, least, most));
    }
}

static void quantize_affine(const struct row *row)
{
    const unsigned bits = inlay_row_formats[row->type].block_bytes / 4;
    const double most = (1 << bits) - 1;
    memset(row->to, 0, inlay_table_row_bytes(row->type, row->dim));
    for (size_t group = 0, first = 0; first < row->dim; group++, first += row->group) {
        const size_t count = inlay_min(row->group, row->dim - first);
        const struct range range = range_of(row->from, first, count);
        const double step = step_of(range.most - range.least, most);
        inlay_store_f32(row->scales, 2 * group, (float)step);
        inlay_store_f32(row->scales, 2 * group + 1, (float)range.least);
        for (size_t i = first; i < first + count; i++) {
            const unsigned q = (unsigned)clamped(nearest((value_at(row->from, i) - range.least) / step), 0, most);
            unsigned char *to = row->to + i * bits / 8;
            to[0] = (unsigned char)(to[0] | q << i * bits % 8);
            if (i * bits % 8 + bits > 8)
                to[1] = (unsigned char)(to[1] | q >> (8 - i * bits % 8));
        }
    }
}

static void quantize_e4m3(const struct row *row)
{
    double step = row_step(row, LARGEST_E4M3);
    for (size_t i = 0; i < row->dim; i++)
        row->to[i] = inlay_e4m3_of(value_at(row->from, i) / step);
}

/* The scale is the smallest power of two with which no value exceeds the largest E4M3 number, 1.75 * 2^8. */
static void quantize_e4m3_e8m0(const struct row *row)
{
    enum { BLOCK = 32, BIAS = 127 };
    for (size_t first = 0; first < row->dim; first += BLOCK) {
        const double magnitude = magnitude_of(range_of(row->from, first, BLOCK));
        int exponent = magnitude == 0 ? 0 : exponent_of(magnitude) - 8;
        exponent = exponent < -BIAS ? -BIAS : exponent;
        exponent += magnitude > LARGEST_E4M3 * power_of_two(exponent);
        row->scales[first / BLOCK] = (unsigned char)(exponent + BIAS);
        for (size_t i = first; i < first + BLOCK; i++)
            row->to[i] = inlay_e4m3_of(value_at(row->from, i) * power_of_two(-exponent));
    }
}

static void quantize_e2m1_f32(const struct row *row)
{
    /* Midpoints between adjacent numbers. */
    static const double bounds[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
    enum { BLOCK = 16, LARGEST = 6, BOUNDS = sizeof bounds / sizeof *bounds, MINUS = 8 };
    for (size_t first = 0; first < row->dim; first += BLOCK) {
        const double step = step_of(magnitude_of(range_of(row->from, first, BLOCK)), LARGEST);
        inlay_store_f32(row->scales, first / BLOCK, (float)step);
        for (size_t i = first; i < first + BLOCK; i++) {
            const double x = value_at(row->from, i) / step;
            unsigned q = 0;
            while (q < BOUNDS && (x < 0 ? -x : x) > bounds[q])
                q++;
            put_nibble(row->to, i, x < 0 ? q + MINUS : q);
        }
    }
}

/* The conversion of rows of types that aren't ggml's blocks, and the largest magnitude that each type holds, also
   without scales if they are optional. */
static const struct {
    void (*row)(const struct row *row);
    uint32_t limit, unscaled_limit;
} types[INLAY_ELEMENT_TYPES] = {
    [INLAY_F32] = {quantize_float, ANY, 0},
    [INLAY_F16] = {quantize_float, ANY, 0},
    [INLAY_BF16] = {quantize_float, ANY, 0},
    [INLAY_I8] = {quantize_i8, BITS_STEPS, BITS_127},
    [INLAY_I8_INVERSE] = {quantize_i8_inverse, BITS_STEPS, 0},
    [INLAY_U8_ROWWISE] = {quantize_u8_rowwise, BITS_STEPS, 0},
    [INLAY_U4_ROWWISE] = {quantize_rowwise, BITS_F16, 0},
    [INLAY_U4_GROUPED] = {quantize_grouped, BITS_STEPS, 0},
    [INLAY_U4_GROUPED_FLAT] = {quantize_grouped, BITS_STEPS, 0},
    [INLAY_E4M3] = {quantize_e4m3, BITS_STEPS, BITS_448},
    [INLAY_E4M3_E8M0] = {quantize_e4m3_e8m0, BITS_STEPS, 0},
    [INLAY_I8_GROUPED] = {quantize_grouped, BITS_STEPS, 0},
    [INLAY_U8_GROUPED] = {quantize_grouped, BITS_STEPS, 0},
    [INLAY_E2M1_F32] = {quantize_e2m1_f32, BITS_STEPS, 0},
    [INLAY_U2_AFFINE] = {quantize_affine, BITS_STEPS, 0},
    [INLAY_U3_AFFINE] = {quantize_affine, BITS_STEPS, 0},
    [INLAY_U4_AFFINE] = {quantize_affine, BITS_STEPS, 0},
    [INLAY_U5_AFFINE] = {quantize_affine, BITS_STEPS, 0},
    [INLAY_U6_AFFINE] = {quantize_affine, BITS_STEPS, 0},
    [INLAY_U8_AFFINE] = {quantize_affine, BITS_STEPS, 0},
    [INLAY_U8_ROWWISE_FIRST] = {quantize_rowwise, BITS_F16, 0},
    [INLAY_U4_ROWWISE_FIRST] = {quantize_rowwise, BITS_F16, 0},
    [INLAY_U2_ROWWISE_FIRST] = {quantize_rowwise, BITS_F16, 0},
    [INLAY_U2_ROWWISE] = {quantize_rowwise, BITS_F16, 0},
};

/* Converts a row block by block. */
static void quantize_blocks(const struct row *row)
{
    const struct inlay_row_format *format = &inlay_row_formats[row->type];
    const struct block_type *type = &inlay_block_types[row->type];
    for (size_t i = 0; i < row->dim >> format->log2_columns; i++)
        type->block(row->from + (i << format->log2_columns) * sizeof(float), type, row->to + i * format->block_bytes);
}

/* Returns the larger of `largest` and the largest error of a row, dequantized by the kernel. */
static double error_of(const struct inlay_kernels *kernels, const inlay_table *to, const struct row *row, size_t index,
                       double largest)
{
    enum { COLUMNS = 256 };
    unsigned char back[COLUMNS * sizeof(float)];
    for (size_t first = 0; first < to->dim; first += COLUMNS) {
        size_t columns = to->dim - first < COLUMNS ? to->dim - first : COLUMNS;
        struct inlay_row_place place = inlay_row_place(to, index, first);
        unsigned char *out = back;
        const struct inlay_embed_tile tile = {
            .type = to->type,
            .out_type = INLAY_F32,
            .rows = &place.row,
            .scales = &place.scales,
            .zeros = inlay_has_zeros(to) ? &place.zeros : NULL,
            .zero_at = &place.zero_at,
            .group = to->group,
            .out = &out,
            .count = 1,
            .columns = columns,
            .scale = 1,
        };
        kernels->embed(&tile);
        for (size_t i = 0; i < columns; i++) {
            /* NaN, for infinities and NaN that are kept, isn't larger. */
            const double error = __builtin_fabs(value_at(row->from, first + i) - value_at(back, i));
            largest = error > largest ? error : largest;
        }
    }
    return largest;
}

/* Fills the table viewed by `to`, and returns the largest error. Never inlined: its arithmetic must stay between
   entering and leaving the guarded environment. */
static __attribute__((noinline)) double quantize_rows(const inlay_table *from, const inlay_table *to)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    const bool unscaled = inlay_row_formats[to->type].optional && to->scales == NULL;
    double largest_error = 0;
    for (size_t i = 0; i < to->rows; i++) {
        const struct inlay_row_place place = inlay_row_place(to, i, 0);
        const struct row row = {
            .from = inlay_row_place(from, i, 0).row,
            .to = (unsigned char *)(uintptr_t)place.row,
            .scales = unscaled ? NULL : (unsigned char *)(uintptr_t)place.scales,
            .zeros = (unsigned char *)(uintptr_t)place.zeros,
            .first_zero = place.zero_at,
            .dim = to->dim,
            .group = to->group,
            .type = to->type,
        };
        if (types[to->type].row != NULL)
            types[to->type].row(&row);
        else
            quantize_blocks(&row);
        largest_error = error_of(kernels, to, &row, i, largest_error);
    }
    return largest_error;
}

/* Returns true if a type can hold every value of a table: all within its limit, and none negative if it only stores
   nonnegative numbers. Tests the bits, which raises no exception in the caller's environment. */
static bool can_hold(const inlay_table *to, const inlay_table *from)
{
    const bool unscaled = inlay_row_formats[to->type].optional && to->scales == NULL;
    const uint32_t scaled_limit =
        types[to->type].row != NULL ? types[to->type].limit : inlay_block_types[to->type].limit;
    const uint32_t limit = unscaled ? types[to->type].unscaled_limit : scaled_limit;
    const uint32_t minus_zero = UINT32_C(1) << 31;
    const bool negative = to->type != INLAY_U4_GROUPED_FLAT || to->zeros != NULL;
    for (size_t i = 0; i < from->rows; i++) {
        const unsigned char *row = inlay_row_place(from, i, 0).row;
        for (size_t column = 0; column < from->dim; column++) {
            uint32_t bits = inlay_bits_f32(inlay_load_f32(row, column));
            if ((bits & INT32_MAX) > limit || (!negative && bits > minus_zero))
                return false;
        }
    }
    return true;
}

inlay_status inlay_table_quantize(const inlay_table *from, const inlay_table_storage *to, inlay_table *view,
                                  double *largest_error)
{
    if (from == NULL || to == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(to, sizeof *to))
        return INLAY_ERROR_OPTION;
    inlay_table made = inlay_table_view(to->type, to->data, from->rows, from->dim, to->stride_bytes);
    made.group = to->group;
    made.scales = to->scales;
    made.zeros = to->zeros;
    struct inlay_table_arrays read, written;
    inlay_status status = inlay_check_table(from, &read, NULL, NULL);
    if (status == INLAY_OK)
        status = inlay_check_table(&made, &written, NULL, NULL);
    if (status != INLAY_OK)
        return status;
    if (from->type != INLAY_F32 || from->vocab > 0)
        return INLAY_ERROR_OPTION;
    enum { OUTPUTS = 5, TOUCHED = 7 };
    const struct inlay_extent touched[TOUCHED] = {
        written.data,
        written.scales,
        written.zeros,
        inlay_bytes_at(view, sizeof *view),
        inlay_bytes_at(largest_error, sizeof *largest_error),
        inlay_bytes_at(from, from->size),
        inlay_bytes_at(to, to->size),
    };
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (inlay_table_overlaps(touched[i], from))
            return INLAY_ERROR_OVERLAP;
        for (size_t j = i + 1; j < TOUCHED; j++)
            if (inlay_extents_overlap(touched[i], touched[j]))
                return INLAY_ERROR_OVERLAP;
    }
    if (!can_hold(&made, from))
        return INLAY_ERROR_OPTION;
    struct inlay_fpenv host = inlay_fpenv_enter();
    double error = quantize_rows(from, &made);
    inlay_fpenv_leave(host);
    if (view != NULL)
        *view = made;
    if (largest_error != NULL)
        memcpy(largest_error, &error, sizeof error);
    return INLAY_OK;
}
