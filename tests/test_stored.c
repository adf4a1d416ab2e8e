/* SPDX-License-Identifier: MIT */
/*
 * Stored types of tables, float32 by narrow moves among them: the kernels of the ISA under test against scalar, at
 * every length, address and end of memory; both against bytes written out by hand; and tables that inlay_table_quantize
 * makes, within the errors that it promises.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3 };

static struct arenas {
    struct arena rows, scales, zeros, positions, out, expected;
} arenas;

/* No larger than need be: all of them is filled and looked at for each shape. */
static void make_arenas(size_t columns)
{
    size_t bytes = COUNT * (columns * sizeof(float) + 24) + 64;
    arenas.rows = arena_make(bytes);
    arenas.scales = arena_make(bytes);
    arenas.zeros = arena_make(bytes);
    arenas.positions = arena_make(bytes);
    arenas.out = arena_make(bytes);
    arenas.expected = arena_make(bytes);
}

static void free_arenas(void)
{
    arena_free(&arenas.rows);
    arena_free(&arenas.scales);
    arena_free(&arenas.zeros);
    arena_free(&arenas.positions);
    arena_free(&arenas.out);
    arena_free(&arenas.expected);
}

static bool grouped(inlay_element_type type)
{
    return type == INLAY_U4_GROUPED || type == INLAY_U4_GROUPED_FLAT;
}

/* What of a row the first columns touch, which is less than a row wherever a block or a byte is not full. */
static size_t touched(inlay_element_type type, size_t columns)
{
    size_t blocks = columns / 32, rest = columns % 32;
    switch (type) {
    case INLAY_F32:
        return 4 * columns;
    case INLAY_F16:
    case INLAY_BF16:
        return 2 * columns;
    case INLAY_U4_ROWWISE:
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
        return (columns + 1) / 2;
    case INLAY_Q8_0:
        return blocks * 34 + (rest > 0 ? 2 + rest : 0);
    case INLAY_Q4_0:
        return blocks * 18 + (rest > 0 ? 2 + (rest < 16 ? rest : 16) : 0);
    default:
        return columns;
    }
}

static size_t groups_of(size_t columns, size_t group)
{
    return (columns + group - 1) / group;
}

/* The bytes beside the elements of one row. */
static size_t scale_bytes(inlay_element_type type, size_t columns, size_t group)
{
    switch (type) {
    case INLAY_I8:
    case INLAY_I8_INVERSE:
    case INLAY_U4_ROWWISE:
        return 4;
    case INLAY_U8_ROWWISE:
        return 8;
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
        return 4 * groups_of(columns, group);
    default:
        return 0;
    }
}

struct shape {
    inlay_element_type type;
    size_t columns, group;
    bool zeros, positioned, in_place, stream, far;
    enum placement placement;
    size_t offset;
    float scale;
};

static void random_bytes(struct random *random, unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)random_bits(random);
}

static void check_shape(const struct shape *shape, uint64_t seed)
{
    struct random random = {seed};
    inlay_element_type type = shape->type;
    size_t bytes = touched(type, shape->columns), beside = scale_bytes(type, shape->columns, shape->group);
    size_t groups = groups_of(shape->columns, shape->group), floats = shape->columns * sizeof(float);
    size_t row_zeros = type == INLAY_U4_GROUPED_FLAT ? groups : groups + groups % 2;
    size_t zero_bytes = (COUNT * row_zeros + 1) / 2;
    size_t stride = floats + (shape->placement == INSIDE ? shape->offset % 7 * 4 : 0);
    enum placement placement = shape->placement;
    unsigned char *rows = arena_place(&arenas.rows, COUNT * bytes, placement, shape->offset);
    unsigned char *scales = arena_place(&arenas.scales, COUNT * beside, placement, shape->offset * 5 % 64);
    unsigned char *zeros = arena_place(&arenas.zeros, zero_bytes, placement, shape->offset);
    unsigned char *positions = arena_place(&arenas.positions, COUNT * floats, placement, shape->offset * 3 % 64);
    unsigned char *out = arena_place(&arenas.out, (COUNT - 1) * stride + floats, placement, shape->offset);
    unsigned char *expected = arena_place(&arenas.expected, COUNT * floats, placement, 0);
    random_bytes(&random, rows, COUNT * bytes);
    random_bytes(&random, zeros, zero_bytes);
    random_rows(&random, positions, COUNT, shape->columns, floats);
    if (type == INLAY_U4_ROWWISE)
        random_bytes(&random, scales, COUNT * beside);
    else
        random_rows(&random, scales, COUNT, beside / sizeof(float), beside);
    const unsigned char *row_at[COUNT], *scales_at[COUNT], *positions_at[COUNT];
    size_t zero_at[COUNT];
    unsigned char *out_at[COUNT], *expected_at[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        row_at[i] = rows + i * bytes;
        scales_at[i] = scales + i * beside;
        zero_at[i] = i * row_zeros;
        positions_at[i] = positions + i * floats;
        out_at[i] = out + i * stride;
        expected_at[i] = expected + i * floats;
    }
    struct inlay_embed_tile tile = {
        .rows = row_at,
        .scales = beside > 0 ? scales_at : NULL,
        .zeros = shape->zeros ? zeros : NULL,
        .zero_at = shape->zeros ? zero_at : NULL,
        .group = shape->group,
        .positions = shape->positioned ? positions_at : NULL,
        .out = expected_at,
        .count = COUNT,
        .columns = shape->columns,
        .scale = shape->scale,
    };
    inlay_kernels_scalar.embed[type](&tile);
    if (shape->in_place)
        for (size_t i = 0; i < COUNT; i++) {
            memcpy(out_at[i], positions_at[i], floats);
            positions_at[i] = out_at[i];
        }
    tile.out = out_at;
    tile.stream = shape->stream;
    tile.narrow_moves = true; /* of float32; test_embed has the others */
    tile.prefetch_whole_rows = shape->far;
    tile.prefetch_rows = shape->offset % 3;
    tested->embed[type](&tile);
    count_checks(COUNT * shape->columns);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t column = 0; column < shape->columns; column++) {
            float got = float_at(out_at[i], column), wanted = float_at(expected_at[i], column);
            if (!same_float(got, wanted))
                ck_abort_msg("type %d, %zu columns, group %zu, zeros %d, positions %d, in place %d, stream %d, far %d, "
                             "placement %d, offset %zu, scale %a: row %zu, column %zu is %a, scalar has %a",
                             (int)type, shape->columns, shape->group, shape->zeros, shape->positioned, shape->in_place,
                             shape->stream, shape->far, (int)placement, shape->offset, (double)shape->scale, i, column,
                             (double)got, (double)wanted);
        }
    EXPECT(arena_untouched_outside(&arenas.out, out, COUNT, stride, floats),
           "type %d, %zu columns, stream %d, offset %zu: wrote outside its rows", (int)type, shape->columns,
           shape->stream, shape->offset);
}

static void check_everywhere(size_t columns, enum placement placement, size_t offset)
{
    static const float scales[] = {1, 22.627417f, -0.5f, 0, NAN, INFINITY, 0x1p-140f};
    static const size_t groups[] = {32, 64, 128};
    for (int type = INLAY_F32; type < INLAY_ELEMENT_TYPES; type++)
        for (int way = 0; way < 6; way++) {
            size_t mixed = columns * 7 + offset * 3 + (size_t)way;
            struct shape shape = {
                .type = (inlay_element_type)type,
                .columns = columns,
                .group = groups[mixed % 3],
                .zeros = grouped((inlay_element_type)type) && way % 2 == 0,
                .positioned = way % 3 > 0,
                .in_place = way % 3 == 2,
                .stream = way >= 3,
                .far = mixed / 2 % 2 == 1,
                .placement = placement,
                .offset = offset,
                .scale = mixed % 4 == 0 ? 1 : scales[mixed / 4 % (sizeof scales / sizeof *scales)],
            };
            check_shape(&shape, mixed * INLAY_ELEMENT_TYPES + (size_t)type);
        }
}

START_TEST(every_length_against_both_guard_pages)
{
    enum { SHORT = 200 };
    static const size_t lengths[] = {256, 257, 271, 288, 1024, 1055, 4095, 4096, 4097};
    make_arenas(SHORT);
    for (size_t columns = 1; columns <= SHORT; columns++) {
        check_everywhere(columns, AT_END, columns % 5);
        check_everywhere(columns, AT_BEGIN, columns % 5);
    }
    free_arenas();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        make_arenas(lengths[i]);
        check_everywhere(lengths[i], AT_END, i % 5);
        check_everywhere(lengths[i], AT_BEGIN, i % 5);
        free_arenas();
    }
}
END_TEST

START_TEST(every_length_at_every_alignment)
{
    enum { SHORT = 130 };
    static const size_t lengths[] = {255, 256, 544, 1029};
    make_arenas(SHORT);
    for (size_t offset = 0; offset < 64; offset++)
        for (size_t columns = 1; columns <= SHORT; columns += offset % 16 == 4 ? 1 : 11)
            check_everywhere(columns, INSIDE, offset);
    free_arenas();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        make_arenas(lengths[i]);
        for (size_t offset = 0; offset < 64; offset += 4)
            check_everywhere(lengths[i], INSIDE, offset + (offset == 32));
        free_arenas();
    }
}
END_TEST

/* One row, decoded as it is by the kernels under test. */
static void decode(inlay_element_type type, const void *row, const void *scales, const void *zeros, size_t group,
                   size_t columns, float *out)
{
    const unsigned char *row_at = row, *scales_at = scales;
    const size_t zero_at = 0;
    unsigned char *out_at = (unsigned char *)out;
    struct inlay_embed_tile tile = {
        .rows = &row_at,
        .scales = scales != NULL ? &scales_at : NULL,
        .zeros = zeros,
        .zero_at = &zero_at,
        .group = group,
        .out = &out_at,
        .count = 1,
        .columns = columns,
        .scale = 1,
    };
    tested->embed[type](&tile);
}

static void expect_floats(const char *what, const float *got, const float *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        EXPECT(same_float(got[i], wanted[i]), "%s: column %zu is %a, not %a", what, i, (double)got[i],
               (double)wanted[i]);
}

/* The value of a float16 by the definition of IEEE 754. */
static float half_by_definition(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double magnitude = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                       : exponent == 0 ? ldexp(fraction, -24)
                                       : ldexp(1024 + fraction, exponent - 25);
    return (float)(bits >> 15 ? -magnitude : magnitude);
}

START_TEST(every_pattern_of_16_bits)
{
    static uint16_t row[65536];
    static float got[65536], wanted[65536];
    for (unsigned bits = 0; bits < 65536; bits++) {
        row[bits] = (uint16_t)bits;
        wanted[bits] = half_by_definition(bits);
    }
    decode(INLAY_F16, row, NULL, NULL, 0, 65536, got);
    expect_floats("float16", got, wanted, 65536);
    for (unsigned bits = 0; bits < 65536; bits++) {
        uint32_t whole = bits << 16;
        memcpy(&wanted[bits], &whole, sizeof whole);
    }
    decode(INLAY_BF16, row, NULL, NULL, 0, 65536, got);
    expect_floats("bfloat16", got, wanted, 65536);
}
END_TEST

START_TEST(every_byte)
{
    unsigned char row[256];
    float got[512], wanted[512];
    for (int byte = 0; byte < 256; byte++)
        row[byte] = (unsigned char)byte;
    const float scale = 0.3f, pair[] = {0.3f, -7.7f};
    for (int byte = 0; byte < 256; byte++)
        wanted[byte] = (float)(int8_t)byte * scale;
    decode(INLAY_I8, row, &scale, NULL, 0, 256, got);
    expect_floats("int8", got, wanted, 256);
    const float reciprocal = 1 / scale;
    for (int byte = 0; byte < 256; byte++)
        wanted[byte] = (float)(int8_t)byte * reciprocal;
    decode(INLAY_I8_INVERSE, row, &scale, NULL, 0, 256, got);
    expect_floats("int8 by an inverse scale", got, wanted, 256);
    for (int byte = 0; byte < 256; byte++) {
        float product = (float)byte * pair[0];
        wanted[byte] = product + pair[1];
    }
    decode(INLAY_U8_ROWWISE, row, pair, NULL, 0, 256, got);
    expect_floats("uint8 rowwise", got, wanted, 256);
    const uint16_t halves[] = {0x3400, 0xc000}; /* 0.25, -2 */
    for (int byte = 0; byte < 256; byte++) {
        wanted[2 * byte] = (float)(byte & 15) * 0.25f - 2;
        wanted[2 * byte + 1] = (float)(byte >> 4) * 0.25f - 2;
    }
    decode(INLAY_U4_ROWWISE, row, halves, NULL, 0, 512, got);
    expect_floats("4-bit rowwise", got, wanted, 512);
}
END_TEST

/* Rows as the formats' authors lay them out. */
START_TEST(bytes_by_hand)
{
    float got[64];
    /* FBGEMM, 8 bits: 5 numbers, then scale 0.5 and bias -1 at an odd address. */
    const unsigned char fbgemm_8[] = {0, 1, 2, 128, 255, 0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf};
    const float fbgemm_8_values[] = {-1, -0.5f, 0, 63, 126.5f};
    ck_assert_uint_eq(inlay_table_row_bytes(INLAY_U8_ROWWISE, 5), sizeof fbgemm_8);
    decode(INLAY_U8_ROWWISE, fbgemm_8, fbgemm_8 + 5, NULL, 0, 5, got);
    expect_floats("FBGEMM, 8 bits", got, fbgemm_8_values, 5);
    /* FBGEMM, 4 bits: 0x21 is 1, then 2; scale 2 (0x4000), bias 0.5 (0x3800). */
    const unsigned char fbgemm_4[] = {0x21, 0x0f, 0xf3, 0x00, 0x40, 0x00, 0x38};
    const float fbgemm_4_values[] = {2.5f, 4.5f, 30.5f, 0.5f, 6.5f};
    ck_assert_uint_eq(inlay_table_row_bytes(INLAY_U4_ROWWISE, 5), sizeof fbgemm_4);
    decode(INLAY_U4_ROWWISE, fbgemm_4, fbgemm_4 + 3, NULL, 0, 5, got);
    expect_floats("FBGEMM, 4 bits", got, fbgemm_4_values, 5);
    /* ONNX: 0xf0 is 0, then 15; groups 0 and 1 have zeros 3 and 12, or 8 each. */
    unsigned char onnx[32];
    memset(onnx, 0xf0, sizeof onnx);
    onnx[16] = 0x5c; /* columns 32 and 33 */
    const float onnx_scales[] = {2, 0.25f};
    const unsigned char onnx_zeros[] = {0xc3};
    float wanted[64];
    for (int zeros = 0; zeros < 2; zeros++) {
        for (int i = 0; i < 64; i++) {
            int q = i == 32 ? 12 : i == 33 ? 5 : i % 2 ? 15 : 0, zero = !zeros ? 8 : i < 32 ? 3 : 12;
            wanted[i] = (float)(q - zero) * (i < 32 ? 2 : 0.25f);
        }
        decode(INLAY_U4_GROUPED, onnx, onnx_scales, zeros ? onnx_zeros : NULL, 32, 64, got);
        expect_floats("ONNX, 4 bits", got, wanted, 64);
    }
    /* ggml: d = 0.5 (0x3800), then 32 int8. */
    unsigned char q8_0[34] = {0x00, 0x38};
    for (int i = 0; i < 32; i++) {
        q8_0[2 + i] = (unsigned char)(i * 8 - 128);
        wanted[i] = (float)(i * 8 - 128) / 2;
    }
    ck_assert_uint_eq(inlay_table_row_bytes(INLAY_Q8_0, 32), sizeof q8_0);
    decode(INLAY_Q8_0, q8_0, NULL, NULL, 0, 32, got);
    expect_floats("Q8_0", got, wanted, 32);
    /* ggml: d = -1 (0xbc00); byte i holds column i below and column 16 + i above. */
    unsigned char q4_0[18] = {0x00, 0xbc};
    for (int i = 0; i < 16; i++) {
        q4_0[2 + i] = (unsigned char)(i | (15 - i) << 4);
        wanted[i] = (float)(8 - i);
        wanted[16 + i] = (float)(i - 7);
    }
    ck_assert_uint_eq(inlay_table_row_bytes(INLAY_Q4_0, 32), sizeof q4_0);
    decode(INLAY_Q4_0, q4_0, NULL, NULL, 0, 32, got);
    wanted[8] = -0.0f; /* 0 * -1 */
    wanted[16 + 7] = -0.0f;
    expect_floats("Q4_0", got, wanted, 32);
}
END_TEST

/* A table that inlay_table_quantize fills in, between guard pages. */
struct stored {
    struct arena data, scales, zeros;
    inlay_table view;
    size_t scale_row, zero_row; /* bytes beside a row */
};

static struct stored make_stored(inlay_element_type type, size_t rows, size_t dim, size_t group, bool zeros, size_t padding)
{
    struct stored stored = {.view = inlay_table_f32(NULL, rows, dim)};
    size_t row_bytes = inlay_table_row_bytes(type, dim);
    bool beside = type == INLAY_I8 || type == INLAY_I8_INVERSE || type == INLAY_U4_GROUPED;
    stored.scale_row = beside ? scale_bytes(type, dim, group) : 0;
    stored.zero_row = zeros ? (dim / group + 1) / 2 : 0;
    stored.data = arena_make(rows * (row_bytes + padding));
    stored.scales = arena_make(rows * stored.scale_row + 1);
    stored.zeros = arena_make(rows * stored.zero_row + 1);
    stored.view.type = type;
    stored.view.stride_bytes = row_bytes + padding;
    stored.view.data = arena_place(&stored.data, (rows - 1) * stored.view.stride_bytes + row_bytes, AT_END, 0);
    stored.view.group = type == INLAY_U4_GROUPED ? (uint32_t)group : 0;
    if (beside)
        stored.view.scales = arena_place(&stored.scales, rows * stored.scale_row, AT_END, 0);
    if (zeros)
        stored.view.zeros = arena_place(&stored.zeros, rows * stored.zero_row, AT_END, 0);
    return stored;
}

static void free_stored(struct stored *stored)
{
    arena_free(&stored->data);
    arena_free(&stored->scales);
    arena_free(&stored->zeros);
}

static void decode_row(const struct stored *stored, size_t i, float *out)
{
    const inlay_table *view = &stored->view;
    const unsigned char *row = (const unsigned char *)view->data + i * view->stride_bytes, *scales = NULL,
                        *zeros = NULL;
    if (view->scales != NULL)
        scales = (const unsigned char *)view->scales + i * stored->scale_row;
    if (view->zeros != NULL)
        zeros = (const unsigned char *)view->zeros + i * stored->zero_row;
    if (view->type == INLAY_U8_ROWWISE)
        scales = row + view->dim;
    if (view->type == INLAY_U4_ROWWISE)
        scales = row + (view->dim + 1) / 2;
    decode(view->type, row, scales, zeros, view->group, view->dim, out);
}

struct extremes {
    double least, most;
};

static struct extremes extremes_of(const float *x, size_t n)
{
    struct extremes extremes = {INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++) {
        double value = (double)x[i];
        extremes.least = value < extremes.least ? value : extremes.least;
        extremes.most = value > extremes.most ? value : extremes.most;
    }
    return extremes;
}

/* How far what is read may be from x, one of the numbers that share a scale, as the header has it. */
static double allowed(inlay_element_type type, bool zeros, struct extremes of, double x)
{
    const double least = of.least, most = of.most, floor = 0x1p-126, half_floor = 8 * 0x1p-24, rounding = 0x1p-21;
    double magnitude = fmax(-least, most), range = most - least;
    switch (type) {
    case INLAY_F16:
        return fmax(fabs(x) * 0x1p-11, 0x1p-25);
    case INLAY_BF16:
        return fmax(fabs(x) * 0x1p-8, 0x1p-134);
    case INLAY_I8:
    case INLAY_I8_INVERSE:
        return fmax(magnitude / 127, floor) * (0.5 + 127 * rounding);
    case INLAY_U8_ROWWISE:
        return fmax(range / 255, floor) * 0.5001 + (range + magnitude) * rounding;
    case INLAY_U4_ROWWISE:
        return range / 15 * 0.501 + (fabs(least) + range) * 0x1p-11 + magnitude * rounding + half_floor;
    case INLAY_U4_GROUPED:
        range = fmax(most, 0) - fmin(least, 0);
        return fmax(zeros ? range / 15 : magnitude / 7, floor) * 0.5001;
    case INLAY_Q8_0:
        return magnitude / 127 * 0.57 + 64 * 0x1p-24;
    case INLAY_Q4_0:
        return magnitude / 8 * 1.01 + 8 * 0x1p-24;
    default:
        return 0;
    }
}

static void check_stored(inlay_element_type type, size_t rows, size_t dim, size_t group, bool zeros, const float *x,
                         const char *what)
{
    struct stored stored = make_stored(type, rows, dim, group, zeros, dim % 5);
    inlay_table from = inlay_table_f32(x, rows, dim);
    float *got = malloc(dim * sizeof *got);
    double reported = -1, largest = 0;
    ck_assert_int_eq(quantize(&from, &stored.view, &reported), INLAY_OK);
    size_t share = type == INLAY_U4_GROUPED ? group : type == INLAY_Q8_0 || type == INLAY_Q4_0 ? 32 : dim;
    for (size_t row = 0; row < rows; row++) {
        const float *wanted = x + row * dim;
        struct extremes extremes = {0, 0};
        decode_row(&stored, row, got);
        count_checks(dim);
        for (size_t i = 0; i < dim; i++) {
            if (i % share == 0)
                extremes = extremes_of(wanted + i, share);
            double error = fabs((double)got[i] - (double)wanted[i]);
            if (!(error <= allowed(type, zeros, extremes, (double)wanted[i])))
                ck_abort_msg("%s, type %d, dim %zu, group %zu, zeros %d: row %zu, column %zu: %a became %a", what,
                             (int)type, dim, group, zeros, row, i, (double)wanted[i], (double)got[i]);
            largest = error > largest ? error : largest;
        }
    }
    EXPECT(reported == largest, "%s, type %d, dim %zu: an error of %a is said to be %a", what, (int)type, dim, largest,
           reported);
    EXPECT(arena_untouched_outside(&stored.data, stored.view.data, rows, stored.view.stride_bytes,
                                   inlay_table_row_bytes(type, dim)),
           "type %d, dim %zu: wrote outside its rows", (int)type, dim);
    free(got);
    free_stored(&stored);
}

/* Every type that can have so many columns. */
static void check_types(size_t rows, size_t dim, const float *x, const char *what)
{
    for (int type = INLAY_F32; type < INLAY_ELEMENT_TYPES; type++) {
        bool blocks = type == INLAY_Q8_0 || type == INLAY_Q4_0;
        if (type != INLAY_U4_GROUPED && (!blocks || dim % 32 == 0))
            check_stored((inlay_element_type)type, rows, dim, 0, false, x, what);
        for (size_t group = 32; type == INLAY_U4_GROUPED && group <= 128; group *= 2)
            for (int zeros = 0; zeros < 2 && dim % group == 0; zeros++)
                check_stored((inlay_element_type)type, rows, dim, group, zeros, x, what);
    }
}

START_TEST(stored_tables_keep_their_promise)
{
    enum { ROWS = 4, LARGEST = 2080 };
    static const size_t dims[] = {1, 2, 3, 7, 31, 32, 33, 64, 96, 128, 255, 256, 257, 288, 384, 640, 1111, 2080};
    static const double sizes[] = {1, 0.02, 1000, 1e-3, 1e-6, 1e-9, 1e-30, 1e-38, 1e-44};
    static float x[ROWS * LARGEST];
    struct random random = {5};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
            for (int sign = -1; sign <= 1; sign++) {
                for (size_t i = 0; i < ROWS * dims[d]; i++) {
                    double u = (double)(random_bits(&random) >> 11) * 0x1p-53;
                    x[i] = (float)(sizes[size] * (sign < 0 ? -1 - u : sign > 0 ? 1 + u : 2 * u - 1));
                }
                check_types(ROWS, dims[d], x, "random numbers");
            }
            for (size_t i = 0; i < ROWS * dims[d]; i++)
                x[i] = (float)(i / dims[d] == 1 ? -sizes[size] : sizes[size]);
            check_types(ROWS, dims[d], x, "constant rows");
        }
}
END_TEST

START_TEST(zeros_stay_zeros)
{
    enum { DIM = 256 };
    static const float zeros[2 * DIM];
    static float got[DIM];
    check_types(2, DIM, zeros, "zeros");
    for (int type = INLAY_F16; type < INLAY_ELEMENT_TYPES; type++)
        for (int with = 0; with < (type == INLAY_U4_GROUPED ? 2 : 1); with++) {
            struct stored stored = make_stored((inlay_element_type)type, 2, DIM, 64, with, 0);
            inlay_table from = inlay_table_f32(zeros, 2, DIM);
            double error = -1;
            ck_assert_int_eq(quantize(&from, &stored.view, &error), INLAY_OK);
            EXPECT(error == 0, "zeros of type %d have an error of %a", type, error);
            decode_row(&stored, 1, got);
            if (stored.view.scales != NULL)
                EXPECT(float_at(stored.view.scales, 0) == 1, "the scale of zeros of type %d is %a", type,
                       (double)float_at(stored.view.scales, 0));
            for (int i = 0; i < DIM; i++)
                EXPECT(got[i] == 0, "a zero of type %d is read as %a", type, (double)got[i]);
            free_stored(&stored);
        }
}
END_TEST

/* What is written for some rows, beside what was worked out by hand. */
START_TEST(numbers_by_hand)
{
    static const float row[32] = {-4, 3.9f, 0.25f, -0.25f, 0.74f, 2, [16] = -2, [17] = 3.4f, [31] = 0.3f};
    unsigned char bytes[34];
    float scale;
    inlay_table from = inlay_table_f32(row, 1, 32), to = inlay_table_f32(bytes, 1, 32);
    /* d = -4 / -8 = 0.5: q = trunc(x / d + 8.5). */
    to.type = INLAY_Q4_0;
    to.stride_bytes = 18;
    unsigned char q4_0[18] = {0x00, 0x38, 0x40, 0xff, 0x89, 0x88, 0x89, 0x8c};
    memset(q4_0 + 8, 0x88, 9);
    q4_0[17] = 0x98;
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    ck_assert_mem_eq(bytes, q4_0, sizeof q4_0);
    /* The scale is 127 / 4: q = round(x * 31.75). */
    to.type = INLAY_I8_INVERSE;
    to.stride_bytes = 32;
    to.scales = &scale;
    const signed char i8[32] = {-127, 124, 8, -8, 23, 64, [16] = -64, [17] = 108, [31] = 10};
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    ck_assert_mem_eq(bytes, i8, 32);
    EXPECT(scale == 31.75f, "the inverse scale is %a", (double)scale);
    to.type = INLAY_I8;
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    ck_assert_mem_eq(bytes, i8, 32);
    EXPECT(scale == 4 / 127.0f, "the scale is %a", (double)scale);
    /* d = 4 / 127 = 0x1.02040810p-5, as a float16 0x2808. */
    to.type = INLAY_Q8_0;
    to.stride_bytes = 34;
    to.scales = NULL;
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    ck_assert_mem_eq(bytes + 2, i8, 32);
    EXPECT(bytes[0] == 0x08 && bytes[1] == 0x28, "d is %02x%02x", bytes[1], bytes[0]);
    /* d = 2: ties go away from zero. */
    static const float ties[32] = {254, 1, -1, 5, -5, 2.9f};
    static const signed char away[32] = {127, 1, -1, 3, -3, 1};
    from = inlay_table_f32(ties, 1, 32);
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    ck_assert_mem_eq(bytes + 2, away, 32);
    /* -1 to 14 in steps of 1: 4 bits hold them as they are. */
    float few[4] = {-1, 14, 0, 6.6f};
    from = inlay_table_f32(few, 1, 4);
    to = inlay_table_f32(bytes, 1, 4);
    to.type = INLAY_U4_ROWWISE;
    to.stride_bytes = 6;
    const unsigned char rowwise_4[] = {0xf0, 0x81, 0x00, 0x3c, 0x00, 0xbc};
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    ck_assert_mem_eq(bytes, rowwise_4, sizeof rowwise_4);
    /* Numbers count from the bias that is stored: 1000.3 becomes 1000.5 (0x63d1), the step 0.2 0x3266. */
    const float high[4] = {1000.3f, 1003.3f, 1001.3f, 1002.3f};
    const unsigned char rowwise_high[] = {0xe0, 0x94, 0x66, 0x32, 0xd1, 0x63};
    from = inlay_table_f32(high, 1, 4);
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    ck_assert_mem_eq(bytes, rowwise_high, sizeof rowwise_high);
    from = inlay_table_f32(few, 1, 4);
    /* -1 to 254 likewise, with a float32 scale of 1 and a bias of -1. */
    few[1] = 254;
    to.type = INLAY_U8_ROWWISE;
    to.stride_bytes = 12;
    const unsigned char rowwise_8[] = {0, 255, 1, 8, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf};
    double error;
    ck_assert_int_eq(quantize(&from, &to, &error), INLAY_OK);
    ck_assert_mem_eq(bytes, rowwise_8, sizeof rowwise_8);
    EXPECT(error == 7 - (double)6.6f, "the error is %a", error);
}
END_TEST

START_TEST(sixteen_bits_round_trip)
{
    static uint16_t row[65536], again[65536];
    static float values[65536];
    for (int type = INLAY_F16; type <= INLAY_BF16; type++) {
        for (unsigned bits = 0; bits < 65536; bits++)
            row[bits] = (uint16_t)bits;
        decode((inlay_element_type)type, row, NULL, NULL, 0, 65536, values);
        inlay_table from = inlay_table_f32(values, 1, 65536), to = inlay_table_f32(again, 1, 65536);
        to.type = (inlay_element_type)type;
        to.stride_bytes = sizeof again;
        double error;
        ck_assert_int_eq(quantize(&from, &to, &error), INLAY_OK);
        EXPECT(error == 0, "the error is %a", error);
        for (unsigned bits = 0; bits < 65536; bits++)
            EXPECT(again[bits] == bits || isnan(values[bits]), "type %d: %04x became %04x", type, bits, again[bits]);
    }
    /* Between float16's largest and the next power of two, ties, what no longer counts. */
    const float edges[] = {65519.996f, 65520, -1e30f, 0x1.002p0f, 0x1.006p0f, 0x1p-25f, 0x1.8p-25f, -0x1p-26f, NAN};
    const uint16_t f16[] = {0x7bff, 0x7c00, 0xfc00, 0x3c00, 0x3c02, 0, 1, 0x8000, 0x7e00};
    inlay_table from = inlay_table_f32(edges, 1, 9), to = inlay_table_f32(again, 1, 9);
    to.type = INLAY_F16;
    ck_assert_int_eq(quantize(&from, &to, NULL), INLAY_OK);
    for (int i = 0; i < 9; i++)
        EXPECT(again[i] == f16[i] || (i == 8 && (again[i] & 0x7fff) > 0x7c00), "%a became %04x", (double)edges[i],
               again[i]);
}
END_TEST

START_TEST(what_cannot_be_stored)
{
    static float x[64];
    unsigned char bytes[4][64 * 4], before[4][64 * 4];
    memset(bytes, 0x5a, sizeof bytes);
    memcpy(before, bytes, sizeof bytes);
    inlay_table from = inlay_table_f32(x, 1, 64), to = inlay_table_f32(bytes[0], 1, 64);
    to.type = INLAY_I8;
    to.stride_bytes = 64;
    to.scales = bytes[1];
    double error = 7;
    ck_assert_int_eq(quantize(NULL, &to, &error), INLAY_ERROR_NULL);
    ck_assert_int_eq(quantize(&from, NULL, &error), INLAY_ERROR_NULL);
    const float wrong[] = {NAN, INFINITY, -INFINITY, 0x1.000002p126f};
    for (int i = 0; i < 4; i++) {
        x[63] = wrong[i];
        ck_assert_int_eq(quantize(&from, &to, &error), INLAY_ERROR_OPTION);
    }
    x[63] = -65505;
    inlay_table ggml = to;
    ggml.type = INLAY_Q4_0;
    ggml.scales = NULL;
    ck_assert_int_eq(quantize(&from, &ggml, &error), INLAY_ERROR_OPTION);
    inlay_table changed = to;
    changed.dim = 63;
    ck_assert_int_eq(quantize(&from, &changed, &error), INLAY_ERROR_SHAPE);
    changed = to;
    changed.rows = 0;
    ck_assert_int_eq(quantize(&from, &changed, &error), INLAY_ERROR_SHAPE);
    changed = to;
    changed.scales = NULL;
    ck_assert_int_eq(quantize(&from, &changed, &error), INLAY_ERROR_NULL);
    changed.scales = bytes[0] + 60;
    ck_assert_int_eq(quantize(&from, &changed, &error), INLAY_ERROR_OVERLAP);
    changed.scales = x + 63;
    ck_assert_int_eq(quantize(&from, &changed, &error), INLAY_ERROR_OVERLAP);
    changed = to;
    changed.data = (unsigned char *)x + 255;
    ck_assert_int_eq(quantize(&from, &changed, &error), INLAY_ERROR_OVERLAP);
    changed = to;
    changed.stride_bytes = 63;
    ck_assert_int_eq(quantize(&from, &changed, &error), INLAY_ERROR_STRIDE);
    ck_assert_int_eq(quantize(&to, &changed, &error), INLAY_ERROR_STRIDE);
    ck_assert_int_eq(quantize(&to, &ggml, &error), INLAY_ERROR_OPTION);
    EXPECT(memcmp(bytes, before, sizeof bytes) == 0 && error == 7, "an error wrote something");
    /* What is just within the limits can be stored, and read. */
    x[63] = 0x1p126f;
    ck_assert_int_eq(quantize(&from, &to, &error), INLAY_OK);
    EXPECT(error < 0x1p119, "the largest has an error of %a", error);
    x[63] = -65504;
    ck_assert_int_eq(quantize(&from, &ggml, &error), INLAY_OK);
    EXPECT(error < 8, "the largest has an error of %a", error);
    from.rows = to.rows = 0;
    ck_assert_int_eq(quantize(&from, &to, &error), INLAY_OK);
    EXPECT(error == 0, "nothing has an error of %a", error);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("stored");
    TCase *kernels = tcase_create("kernels");
    tcase_set_timeout(kernels, 600);
    tcase_add_test(kernels, every_length_against_both_guard_pages);
    tcase_add_test(kernels, every_length_at_every_alignment);
    tcase_add_test(kernels, every_pattern_of_16_bits);
    tcase_add_test(kernels, every_byte);
    tcase_add_test(kernels, bytes_by_hand);
    suite_add_tcase(suite, kernels);
    TCase *tables = tcase_create("tables");
    tcase_set_timeout(tables, 600);
    tcase_add_test(tables, stored_tables_keep_their_promise);
    tcase_add_test(tables, zeros_stay_zeros);
    tcase_add_test(tables, numbers_by_hand);
    tcase_add_test(tables, sixteen_bits_round_trip);
    tcase_add_test(tables, what_cannot_be_stored);
    suite_add_tcase(suite, tables);
    return run_suite(argc, argv, suite);
}
