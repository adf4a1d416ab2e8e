/* SPDX-License-Identifier: MIT */
/*
 * Stored types of tables: the kernels of the ISA under test against scalar, at every length, address and end of memory;
 * both against bytes written out by hand; and tables that inlay_rows_store makes, within the errors that it promises.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 4097, COUNT = 3, MAX_ROW = MAX_COLUMNS * 4 + 64 };

static struct arenas {
    struct arena rows, scales, zeros, positions, out, expected;
} arenas;

static void make_arenas(void)
{
    arenas.rows = arena_make(COUNT * (size_t)MAX_ROW);
    arenas.scales = arena_make(COUNT * (size_t)MAX_ROW);
    arenas.zeros = arena_make(COUNT * (size_t)MAX_ROW);
    arenas.positions = arena_make(COUNT * (size_t)MAX_ROW);
    arenas.out = arena_make(COUNT * (size_t)MAX_ROW);
    arenas.expected = arena_make(COUNT * (size_t)MAX_ROW);
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

/* What of a row the first columns touch, which is less than a row wherever a block or a byte is not full. */
static size_t touched(inlay_type type, size_t columns)
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
static size_t scale_bytes(inlay_type type, size_t columns, size_t group)
{
    switch (type) {
    case INLAY_I8:
    case INLAY_I8_INVERSE:
    case INLAY_U4_ROWWISE:
        return 4;
    case INLAY_U8_ROWWISE:
        return 8;
    case INLAY_U4_GROUPED:
        return 4 * groups_of(columns, group);
    default:
        return 0;
    }
}

struct shape {
    inlay_type type;
    size_t columns, group;
    bool zeros, positioned, in_place, stream;
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
    inlay_type type = shape->type;
    size_t bytes = touched(type, shape->columns), beside = scale_bytes(type, shape->columns, shape->group);
    size_t zero_bytes = (groups_of(shape->columns, shape->group) + 1) / 2, floats = shape->columns * sizeof(float);
    size_t stride = floats + (shape->placement == INSIDE ? shape->offset % 7 * 4 : 0);
    enum placement placement = shape->placement;
    unsigned char *rows = arena_place(&arenas.rows, COUNT * bytes, placement, shape->offset);
    unsigned char *scales = arena_place(&arenas.scales, COUNT * beside, placement, shape->offset * 5 % 64);
    unsigned char *zeros = arena_place(&arenas.zeros, COUNT * zero_bytes, placement, shape->offset);
    unsigned char *positions = arena_place(&arenas.positions, COUNT * floats, placement, shape->offset * 3 % 64);
    unsigned char *out = arena_place(&arenas.out, (COUNT - 1) * stride + floats, placement, shape->offset);
    unsigned char *expected = arena_place(&arenas.expected, COUNT * floats, placement, 0);
    random_bytes(&random, rows, COUNT * bytes);
    random_bytes(&random, zeros, COUNT * zero_bytes);
    random_rows(&random, positions, COUNT, shape->columns, floats);
    if (type == INLAY_U4_ROWWISE)
        random_bytes(&random, scales, COUNT * beside);
    else
        random_rows(&random, scales, COUNT, beside / sizeof(float), beside);
    const unsigned char *row_at[COUNT], *scales_at[COUNT], *zeros_at[COUNT], *positions_at[COUNT];
    unsigned char *out_at[COUNT], *expected_at[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        row_at[i] = rows + i * bytes;
        scales_at[i] = scales + i * beside;
        zeros_at[i] = zeros + i * zero_bytes;
        positions_at[i] = positions + i * floats;
        out_at[i] = out + i * stride;
        expected_at[i] = expected + i * floats;
    }
    struct inlay_embed_tile tile = {
        .rows = row_at,
        .scales = beside > 0 ? scales_at : NULL,
        .zeros = shape->zeros ? zeros_at : NULL,
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
    tile.prefetch_rows = shape->offset % 3;
    tested->embed[type](&tile);
    count_checks(COUNT * shape->columns);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t column = 0; column < shape->columns; column++) {
            float got = float_at(out_at[i], column), wanted = float_at(expected_at[i], column);
            if (!same_float(got, wanted))
                ck_abort_msg(
                    "type %d, %zu columns, group %zu, zeros %d, positions %d, in place %d, stream %d, placement "
                    "%d, offset %zu, scale %a: row %zu, column %zu is %a, scalar has %a",
                    (int)type, shape->columns, shape->group, shape->zeros, shape->positioned, shape->in_place,
                    shape->stream, (int)placement, shape->offset, (double)shape->scale, i, column, (double)got,
                    (double)wanted);
        }
    EXPECT(arena_untouched_outside(&arenas.out, out, COUNT, stride, floats),
           "type %d, %zu columns, stream %d, offset %zu: wrote outside its rows", (int)type, shape->columns,
           shape->stream, shape->offset);
}

static void check_everywhere(size_t columns, enum placement placement, size_t offset)
{
    static const float scales[] = {1, 22.627417f, -0.5f, 0, NAN, INFINITY, 0x1p-140f};
    static const size_t groups[] = {32, 64, 128};
    for (int type = INLAY_F16; type < INLAY_TYPES; type++)
        for (int way = 0; way < 6; way++) {
            size_t mixed = columns * 7 + offset * 3 + (size_t)way;
            struct shape shape = {
                .type = (inlay_type)type,
                .columns = columns,
                .group = groups[mixed % 3],
                .zeros = type == INLAY_U4_GROUPED && way % 2 == 0,
                .positioned = way % 3 > 0,
                .in_place = way % 3 == 2,
                .stream = way >= 3,
                .placement = placement,
                .offset = offset,
                .scale = mixed % 4 == 0 ? 1 : scales[mixed / 4 % (sizeof scales / sizeof *scales)],
            };
            check_shape(&shape, mixed * INLAY_TYPES + (size_t)type);
        }
}

START_TEST(every_length_against_both_guard_pages)
{
    for (size_t columns = 1; columns <= 300; columns++) {
        check_everywhere(columns, AT_END, columns % 5);
        check_everywhere(columns, AT_BEGIN, columns % 5);
    }
    for (size_t columns = MAX_COLUMNS - 2; columns <= MAX_COLUMNS; columns++) {
        check_everywhere(columns, AT_END, 0);
        check_everywhere(columns, AT_BEGIN, 0);
    }
}
END_TEST

START_TEST(every_length_at_every_alignment)
{
    for (size_t offset = 0; offset < 64; offset++) {
        for (size_t columns = 1; columns <= 130; columns += offset % 4 == 0 ? 1 : 13)
            check_everywhere(columns, INSIDE, offset);
        check_everywhere(255, INSIDE, offset);
        check_everywhere(256, INSIDE, offset);
        check_everywhere(544, INSIDE, offset);
        check_everywhere(1029, INSIDE, offset);
    }
}
END_TEST

/* One row, decoded as it is by the kernels under test. */
static void decode(inlay_type type, const void *row, const void *scales, const void *zeros, size_t group,
                   size_t columns, float *out)
{
    const unsigned char *row_at = row, *scales_at = scales, *zeros_at = zeros;
    unsigned char *out_at = (unsigned char *)out;
    struct inlay_embed_tile tile = {
        .rows = &row_at,
        .scales = scales != NULL ? &scales_at : NULL,
        .zeros = zeros != NULL ? &zeros_at : NULL,
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
    ck_assert_uint_eq(inlay_row_bytes(INLAY_U8_ROWWISE, 5), sizeof fbgemm_8);
    decode(INLAY_U8_ROWWISE, fbgemm_8, fbgemm_8 + 5, NULL, 0, 5, got);
    expect_floats("FBGEMM, 8 bits", got, fbgemm_8_values, 5);
    /* FBGEMM, 4 bits: 0x21 is 1, then 2; scale 2 (0x4000), bias 0.5 (0x3800). */
    const unsigned char fbgemm_4[] = {0x21, 0x0f, 0xf3, 0x00, 0x40, 0x00, 0x38};
    const float fbgemm_4_values[] = {2.5f, 4.5f, 30.5f, 0.5f, 6.5f};
    ck_assert_uint_eq(inlay_row_bytes(INLAY_U4_ROWWISE, 5), sizeof fbgemm_4);
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
    ck_assert_uint_eq(inlay_row_bytes(INLAY_Q8_0, 32), sizeof q8_0);
    decode(INLAY_Q8_0, q8_0, NULL, NULL, 0, 32, got);
    expect_floats("Q8_0", got, wanted, 32);
    /* ggml: d = -1 (0xbc00); byte i holds column i below and column 16 + i above. */
    unsigned char q4_0[18] = {0x00, 0xbc};
    for (int i = 0; i < 16; i++) {
        q4_0[2 + i] = (unsigned char)(i | (15 - i) << 4);
        wanted[i] = (float)(8 - i);
        wanted[16 + i] = (float)(i - 7);
    }
    ck_assert_uint_eq(inlay_row_bytes(INLAY_Q4_0, 32), sizeof q4_0);
    decode(INLAY_Q4_0, q4_0, NULL, NULL, 0, 32, got);
    wanted[8] = -0.0f; /* 0 * -1 */
    wanted[16 + 7] = -0.0f;
    expect_floats("Q4_0", got, wanted, 32);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("stored");
    TCase *kernels = tcase_create("kernels");
    tcase_set_timeout(kernels, 600);
    tcase_add_checked_fixture(kernels, make_arenas, free_arenas);
    tcase_add_test(kernels, every_length_against_both_guard_pages);
    tcase_add_test(kernels, every_length_at_every_alignment);
    tcase_add_test(kernels, every_pattern_of_16_bits);
    tcase_add_test(kernels, every_byte);
    tcase_add_test(kernels, bytes_by_hand);
    suite_add_tcase(suite, kernels);
    return run_suite(argc, argv, suite);
}
