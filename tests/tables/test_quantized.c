/* SPDX-License-Identifier: MIT */
/*
 * Rows of every element type: the kernels of the ISA under test against scalar at every length, address and end of
 * memory, as floats and as 16-bit outputs, and both against bytes written by hand. Float32 rows use narrow moves here;
 * test_embed.c covers the others.
 */
#include "support/support.h"
#include "table/element.h"

#include <math.h>
#include <string.h>

enum { COUNT = 3 };

enum { ROWS, SCALES, ZEROS, POSITIONS, OUT, EXPECTED, ARENAS };
static struct arena arenas[ARENAS];

/* As small as possible, since all of it is filled and compared for each shape. */
static void make_arenas(size_t columns)
{
    for (int i = 0; i < ARENAS; i++)
        arenas[i] = arena_make(COUNT * (columns * sizeof(float) + 24) + 64);
}

static void free_arenas(void)
{
    for (int i = 0; i < ARENAS; i++)
        arena_free(&arenas[i]);
}

/* Returns the bytes of a row that its first columns use: less than a row if a byte is not full, or scales follow. */
static size_t touched(inlay_element_type type, size_t columns)
{
    return inlay_table_row_bytes(type, columns) - scale_bytes_in_row(type);
}

/* Returns the bytes of the scales (and biases) of one row, wherever they are stored. */
static size_t scale_bytes(inlay_element_type type, size_t columns, size_t group)
{
    const size_t in_row = scale_bytes_in_row(type);
    return in_row > 0 ? in_row : row_scale_bytes(type, columns, group);
}

struct shape {
    inlay_element_type type, out_type;
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

/* Converts a float16 by the definition in IEEE 754. */
static float half_by_definition(unsigned bits)
{
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double magnitude = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                       : exponent == 0 ? ldexp(fraction, -24)
                                       : ldexp(1024 + fraction, exponent - 25);
    return (float)(bits >> 15 ? -magnitude : magnitude);
}

/* Returns column `column` of a row of float32, float16 or bfloat16. */
static float element_at(inlay_element_type type, const unsigned char *row, size_t column)
{
    uint16_t half;
    float x;
    if (type == INLAY_F32)
        return float_at(row, column);
    memcpy(&half, row + column * sizeof half, sizeof half);
    const uint32_t whole = (uint32_t)half << 16;
    memcpy(&x, &whole, sizeof x);
    return type == INLAY_F16 ? half_by_definition(half) : x;
}

static void check_shape(const struct shape *shape, uint64_t seed)
{
    struct random random = {seed};
    inlay_element_type type = shape->type;
    size_t bytes = touched(type, shape->columns), own_scales = scale_bytes(type, shape->columns, shape->group);
    size_t groups = groups_of(shape->columns, shape->group), floats = shape->columns * sizeof(float);
    size_t row_zeros = type == INLAY_U4_GROUPED ? groups + groups % 2 : groups;
    size_t bytes_of_zeros = zero_bytes(type, COUNT, groups);
    size_t written = shape->columns * inlay_type_bytes(shape->out_type);
    size_t stride = written + (shape->placement == INSIDE ? shape->offset % 7 * (written / shape->columns) : 0);
    enum placement placement = shape->placement;
    unsigned char *rows = arena_place(&arenas[ROWS], COUNT * bytes, placement, shape->offset);
    unsigned char *scales = arena_place(&arenas[SCALES], COUNT * own_scales, placement, shape->offset * 5 % 64);
    unsigned char *zeros = arena_place(&arenas[ZEROS], bytes_of_zeros, placement, shape->offset);
    unsigned char *positions = arena_place(&arenas[POSITIONS], COUNT * floats, placement, shape->offset * 3 % 64);
    unsigned char *out = arena_place(&arenas[OUT], (COUNT - 1) * stride + written, placement, shape->offset);
    unsigned char *expected = arena_place(&arenas[EXPECTED], COUNT * floats, placement, 0);
    random_bytes(&random, rows, COUNT * bytes);
    random_bytes(&random, zeros, bytes_of_zeros);
    random_rows(&random, positions, COUNT, shape->columns, floats);
    if (scale_bytes_in_row(type) == 4 || type == INLAY_E4M3_E8M0)
        random_bytes(&random, scales, COUNT * own_scales);
    else
        random_rows(&random, scales, COUNT, own_scales / sizeof(float), own_scales);
    const unsigned char *row_at[COUNT], *scales_at[COUNT], *positions_at[COUNT];
    const unsigned char *zeros_of[COUNT];
    size_t zero_at[COUNT];
    unsigned char *out_at[COUNT], *expected_at[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        row_at[i] = rows + i * bytes;
        scales_at[i] = scales + i * own_scales;
        zeros_of[i] = zeros;
        zero_at[i] = i * row_zeros;
        positions_at[i] = positions + i * floats;
        out_at[i] = out + i * stride;
        expected_at[i] = expected + i * written;
    }
    struct inlay_embed_tile tile = {
        .type = type,
        .out_type = shape->out_type,
        .rows = row_at,
        .scales = own_scales > 0 ? scales_at : NULL,
        .zeros = shape->zeros ? zeros_of : NULL,
        .zero_at = shape->zeros ? zero_at : NULL,
        .group = shape->group,
        .positions = shape->positioned ? positions_at : NULL,
        .out = expected_at,
        .count = COUNT,
        .columns = shape->columns,
        .scale = shape->scale,
    };
    inlay_kernels_scalar.embed(&tile);
    if (shape->in_place)
        for (size_t i = 0; i < COUNT; i++) {
            memcpy(out_at[i], positions_at[i], floats);
            positions_at[i] = out_at[i];
        }
    tile.out = out_at;
    tile.stream = shape->stream;
    tile.narrow_transfers = true; /* of float32; test_embed has the others */
    tested->embed(&tile);
    count_checks(COUNT * shape->columns);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t column = 0; column < shape->columns; column++) {
            const float got = element_at(shape->out_type, out_at[i], column);
            const float wanted = element_at(shape->out_type, expected_at[i], column);
            if (!same_float(got, wanted))
                ck_abort_msg("type %d to %d, %zu columns, group %zu, zeros %d, positions %d, in place %d, stream %d, "
                             "placement %d, offset %zu, scale %a: row %zu, column %zu is %a, scalar has %a",
                             (int)type, (int)shape->out_type, shape->columns, shape->group, shape->zeros,
                             shape->positioned, shape->in_place, shape->stream, (int)placement, shape->offset,
                             (double)shape->scale, i, column, (double)got, (double)wanted);
        }
    EXPECT(arena_untouched_outside(&arenas[OUT], out, COUNT, stride, written),
           "type %d to %d, %zu columns, stream %d, offset %zu: wrote outside its rows", (int)type, (int)shape->out_type,
           shape->columns, shape->stream, shape->offset);
}

static void check_everywhere(size_t columns, enum placement placement, size_t offset)
{
    static const float scales[] = {1, 22.627417f, -0.5f, 0, NAN, INFINITY, 0x1p-140f};
    for (inlay_element_type type = INLAY_F32; type < INLAY_ELEMENT_TYPES; type++)
        for (int way = 0; way < 6 && columns % whole_columns(type) == 0; way++) {
            size_t mixed = columns * 7 + offset * 3 + (size_t)way;
            struct shape shape = {
                .type = type,
                .out_type = INLAY_F32,
                .columns = columns,
                .group = chosen_group(type, mixed / 5),
                .zeros = has_zeros(type) && way % 2 == 0,
                .positioned = way % 3 > 0,
                .in_place = way % 3 == 2,
                .stream = way >= 3,
                .placement = placement,
                .offset = offset,
                .scale = mixed % 4 == 0 ? 1 : scales[mixed / 4 % (sizeof scales / sizeof *scales)],
            };
            check_shape(&shape, mixed * INLAY_ELEMENT_TYPES + (size_t)type);
            shape.out_type = mixed / 4 % 2 ? INLAY_F16 : INLAY_BF16;
            shape.in_place = false; /* only for floats */
            check_shape(&shape, mixed * INLAY_ELEMENT_TYPES + (size_t)type);
        }
}

START_TEST(every_length_against_both_guard_pages)
{
    enum { SHORT = 200 };
    static const size_t lengths[] = {256, 257, 271, 288, 320, 768, 1024, 1055, 4095, 4096, 4097};
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
    static const size_t lengths[] = {255, 256, 544, 768, 1029};
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

/* Floats that are hard to round, in whole blocks and after them, against scalar. */
START_TEST(outputs_of_16_bits_round_as_scalar_does)
{
    static const uint32_t upper[] = {0,      1,      0x3f80, 0x3f81, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0,
                                     0x7fff, 0x8000, 0xff7f, 0xff80, 0xffff, 0x3380, 0x3880, 0x477f};
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xefff, 0xf000, 0xf001, 0xffff, 0x1000, 0x3000};
    enum { UPPER = sizeof upper / sizeof *upper, LOWER = sizeof lower / sizeof *lower, ALL = 40 };
    uint32_t values[ALL];
    uint16_t got[ALL], wanted[ALL];
    const unsigned char *row = (const unsigned char *)values;
    unsigned char *to = (unsigned char *)got;
    for (inlay_element_type type = INLAY_F16; type <= INLAY_BF16; type++)
        for (size_t i = 0; i < UPPER * LOWER * LOWER; i++) {
            /* One column has a different lower half, so some blocks need no rounding, and others need it for only one
               column. */
            for (size_t k = 0; k < ALL; k++)
                values[k] =
                    upper[(i + k) % UPPER] << 16 | lower[k == i * 7 % ALL ? i / UPPER % LOWER : i / UPPER / LOWER];
            const struct inlay_embed_tile tile = {.type = INLAY_F32,
                                                  .out_type = type,
                                                  .rows = &row,
                                                  .out = &to,
                                                  .count = 1,
                                                  .columns = ALL - i % 9,
                                                  .scale = 1};
            unsigned char *expected = (unsigned char *)wanted;
            struct inlay_embed_tile definition = tile;
            definition.out = &expected;
            tested->embed(&tile);
            inlay_kernels_scalar.embed(&definition);
            for (size_t k = 0; k < tile.columns; k++)
                EXPECT(same_float(element_at(type, to, k), element_at(type, expected, k)),
                       "type %d: %08x becomes %04x, not %04x", (int)type, (unsigned)values[k], (unsigned)got[k],
                       (unsigned)wanted[k]);
        }
}
END_TEST

/* Expects these values for the only row of a view, dequantized by the kernels under test. */
static void expect_values(const char *what, inlay_table view, const float *wanted)
{
    static float got[65536];
    dequantize(&view, got);
    for (size_t i = 0; i < view.dim; i++)
        EXPECT(same_float(got[i], wanted[i]), "%s: column %zu is %a, not %a", what, i, (double)got[i],
               (double)wanted[i]);
}

START_TEST(every_pattern_of_16_bits)
{
    static uint16_t row[65536];
    static float halves[65536], brains[65536];
    for (unsigned bits = 0; bits < 65536; bits++) {
        uint32_t whole = bits << 16;
        row[bits] = (uint16_t)bits;
        halves[bits] = half_by_definition(bits);
        memcpy(&brains[bits], &whole, sizeof whole);
    }
    expect_values("float16", inlay_table_f16(row, 1, 65536), halves);
    expect_values("bfloat16", inlay_table_bf16(row, 1, 65536), brains);
}
END_TEST

START_TEST(every_byte)
{
    const float scale = 0.3f, inverse = 1 / scale, pair[] = {0.3f, -7.7f};
    const uint16_t halves[] = {0x3400, 0xc000}; /* 0.25, -2 */
    unsigned char row[256 + sizeof pair];
    float i8[256], i8_inverse[256], u8[256], u4[512];
    for (int byte = 0; byte < 256; byte++) {
        float product = (float)byte * pair[0];
        row[byte] = (unsigned char)byte;
        i8[byte] = (float)(int8_t)byte * scale;
        i8_inverse[byte] = (float)(int8_t)byte * inverse;
        u8[byte] = product + pair[1];
        u4[2 * byte] = (float)(byte & 15) * 0.25f - 2;
        u4[2 * byte + 1] = (float)(byte >> 4) * 0.25f - 2;
    }
    expect_values("int8", inlay_table_i8(row, &scale, 1, 256), i8);
    expect_values("int8 by an inverse scale", inlay_table_i8_inverse(row, &scale, 1, 256), i8_inverse);
    memcpy(row + 256, pair, sizeof pair);
    expect_values("uint8 rowwise", inlay_table_u8_rowwise(row, 1, 256), u8);
    memcpy(row + 256, halves, sizeof halves);
    expect_values("4-bit rowwise", inlay_table_u4_rowwise(row, 1, 512), u4);
}
END_TEST

/* Rows in the layout of the formats' authors. */
START_TEST(bytes_by_hand)
{
    /* FBGEMM, 8 bits: 5 numbers, then scale 0.5 and bias -1 at an odd address. */
    const unsigned char fbgemm_8[] = {0, 1, 2, 128, 255, 0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf};
    const float fbgemm_8_values[] = {-1, -0.5f, 0, 63, 126.5f};
    expect_values("FBGEMM, 8 bits", inlay_table_u8_rowwise(fbgemm_8, 1, 5), fbgemm_8_values);
    /* FBGEMM, 4 bits: 0x21 is 1, then 2; scale 2 (0x4000), bias 0.5 (0x3800). */
    const unsigned char fbgemm_4[] = {0x21, 0x0f, 0xf3, 0x00, 0x40, 0x00, 0x38};
    const float fbgemm_4_values[] = {2.5f, 4.5f, 30.5f, 0.5f, 6.5f};
    expect_values("FBGEMM, 4 bits", inlay_table_u4_rowwise(fbgemm_4, 1, 5), fbgemm_4_values);
    /* The same pair before 8-bit and 4-bit numbers. */
    const unsigned char first_8[] = {0x00, 0x40, 0x00, 0x38, 0, 1, 255},
                        first_4[] = {0x00, 0x40, 0x00, 0x38, 0x21, 0x0f};
    const float first_8_values[] = {0.5f, 2.5f, 510.5f};
    expect_values("FBGEMM, 8 bits, pair first", inlay_table_view(INLAY_U8_ROWWISE_FIRST, first_8, 1, 3, 7),
                  first_8_values);
    expect_values("FBGEMM, 4 bits, pair first", inlay_table_view(INLAY_U4_ROWWISE_FIRST, first_4, 1, 3, 6),
                  fbgemm_4_values);
    /* 2 bits: 0xe4 is 0, 1, 2, 3, and 0x1b is 3, 2, 1, 0. */
    const unsigned char first_2[] = {0x00, 0x40, 0x00, 0x38, 0xe4, 0x1b, 0xe4, 0xe4,
                                     0xe4, 0xe4, 0xe4, 0xe4, 0x00, 0x40, 0x00, 0x38};
    float fbgemm_2_values[32];
    for (int i = 0; i < 32; i++)
        fbgemm_2_values[i] = (float)(i / 4 == 1 ? 3 - i % 4 : i % 4) * 2 + 0.5f;
    expect_values("FBGEMM, 2 bits, pair first", inlay_table_view(INLAY_U2_ROWWISE_FIRST, first_2, 1, 32, 12),
                  fbgemm_2_values);
    expect_values("FBGEMM, 2 bits", inlay_table_view(INLAY_U2_ROWWISE, first_2 + 4, 1, 32, 12), fbgemm_2_values);
    /* ONNX Runtime: 0xf0 is 0, then 15; groups 0 and 1 have zero points 3 and 12, or both the default. */
    unsigned char onnx[32];
    memset(onnx, 0xf0, sizeof onnx);
    onnx[16] = 0x5c; /* columns 32 and 33 */
    const float scales[] = {2, 0.25f};
    const unsigned char zeros[] = {0xc3};
    float wanted[64];
    for (int with = 0; with < 2; with++)
        for (int flat = 0; flat < 2; flat++) {
            for (int i = 0; i < 64; i++) {
                int q = i == 32 ? 12 : i == 33 ? 5 : i % 2 ? 15 : 0, zero = flat ? 0 : 8;
                zero = !with ? zero : i < 32 ? 3 : 12;
                wanted[i] = (float)(q - zero) * (i < 32 ? 2 : 0.25f);
            }
            expect_values("ONNX Runtime, 4 bits",
                          (flat ? inlay_table_u4_grouped_flat : inlay_table_u4_grouped)(onnx, scales,
                                                                                        with ? zeros : NULL, 1, 64, 32),
                          wanted);
        }
    /* MLX, 3 bits: 0, 1, ... 7 in 24 bits, lowest first; groups have scales 2 and 0.25, biases -1 and 3. */
    unsigned char mlx[24];
    const float pairs[] = {2, -1, 0.25f, 3};
    inlay_table view = inlay_table_view(INLAY_U3_AFFINE, mlx, 1, 64, sizeof mlx);
    view.group = 32;
    view.scales = pairs;
    for (int i = 0; i < 64; i++) {
        memcpy(mlx + i / 8 * 3, (const unsigned char[]){0x88, 0xc6, 0xfa}, 3);
        wanted[i] = i < 32 ? (float)(i % 8) * 2 - 1 : (float)(i % 8) * 0.25f + 3;
    }
    expect_values("MLX, 3 bits", view, wanted);
    /* ggml: d = 0.5 (0x3800), then 32 int8. */
    unsigned char q8_0[34] = {0x00, 0x38};
    for (int i = 0; i < 32; i++) {
        q8_0[2 + i] = (unsigned char)(i * 8 - 128);
        wanted[i] = (float)(i * 8 - 128) / 2;
    }
    expect_values("Q8_0", inlay_table_q8_0(q8_0, 1, 32), wanted);
    /* ggml: d = -1 (0xbc00); byte i holds column i below and column 16 + i above. */
    unsigned char q4_0[18] = {0x00, 0xbc};
    for (int i = 0; i < 16; i++) {
        q4_0[2 + i] = (unsigned char)(i | (15 - i) << 4);
        wanted[i] = (float)(8 - i);
        wanted[16 + i] = (float)(i - 7);
    }
    wanted[8] = wanted[16 + 7] = -0.0f; /* 0 * -1 */
    expect_values("Q4_0", inlay_table_q4_0(q4_0, 1, 32), wanted);
}
END_TEST

/* Byte groups with and without zero points, and every 4-bit float with a scale per 16 columns, including subnormal
   scales. */
START_TEST(groups_of_bytes_and_4_bit_floats)
{
    static const unsigned char zeros[2] = {3, 0xfe}; /* 3 and 254, or -2 */
    static const float scales[4] = {2, -0.25f, 0x1p-149f, 3};
    static const float numbers[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    unsigned char bytes[64], nibbles[24];
    float wanted[64];
    for (int i = 0; i < 64; i++)
        bytes[i] = (unsigned char)(i * 4 + 1);
    for (int with = 0; with < 2; with++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            inlay_table view = inlay_table_view(is_signed ? INLAY_I8_GROUPED : INLAY_U8_GROUPED, bytes, 1, 64, 64);
            view.group = 32;
            view.scales = scales;
            view.zeros = with ? zeros : NULL;
            for (int i = 0; i < 64; i++) {
                const int zero = !with ? (is_signed ? 0 : 128) : i < 32 ? 3 : is_signed ? -2 : 254;
                wanted[i] = (float)((is_signed ? (int8_t)bytes[i] : (int)bytes[i]) - zero) * scales[i / 32];
            }
            expect_values(is_signed ? "int8 in groups" : "uint8 in groups", view, wanted);
        }
    for (int i = 0; i < 48; i++) {
        const unsigned q = (unsigned)(i * 5 + i / 16) % 16;
        nibbles[i / 2] = (unsigned char)(i % 2 ? nibbles[i / 2] | q << 4 : q);
        wanted[i] = numbers[q] * scales[i / 16];
    }
    inlay_table view = inlay_table_view(INLAY_E2M1_F32, nibbles, 1, 48, 24);
    view.scales = scales;
    expect_values("4-bit floats", view, wanted);
}
END_TEST

/* The smallest and largest scale bytes: as in ggml, none is NaN. */
START_TEST(scales_of_4_bit_floats)
{
    static const struct {
        unsigned scale;
        float value;
    } mxfp4[] = {{0, 0x1p-128f}, {1, 0x1p-127f}, {2, 0x1p-126f}, {128, 1}, {255, 0x1p127f}},
      nvfp4[] = {{0, 0},    {1, 0x1p-10f}, {7, 0x7p-10f},    {8, 0x1p-7f}, {0x38, 0.5f}, {0x7e, 224},
                 {0x7f, 0}, {0x80, 0},     {0x81, 0x1p-10f}, {0xb8, 0.5f}, {0xff, 240}};
    static const float numbers[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    float wanted[64];
    for (size_t i = 0; i < sizeof mxfp4 / sizeof *mxfp4; i++) {
        unsigned char block[17] = {(unsigned char)mxfp4[i].scale};
        for (int k = 0; k < 16; k++) {
            block[1 + k] = (unsigned char)(k | (15 - k) << 4);
            wanted[k] = numbers[k] * mxfp4[i].value;
            wanted[16 + k] = numbers[15 - k] * mxfp4[i].value;
        }
        expect_values("MXFP4", inlay_table_mxfp4(block, 1, 32), wanted);
    }
    for (size_t i = 0; i < sizeof nvfp4 / sizeof *nvfp4; i++) {
        unsigned char block[36] = {0x38, 0x38, 0x38, 0x38};
        block[i % 4] = (unsigned char)nvfp4[i].scale;
        for (size_t k = 0; k < 64; k++) {
            unsigned char *byte = block + 4 + k / 16 * 8 + k % 8;
            *byte = (unsigned char)(*byte | k * 7 % 16 << k % 16 / 8 * 4);
            wanted[k] = numbers[k * 7 % 16] * (k / 16 == i % 4 ? nvfp4[i].value : 0.5f);
        }
        expect_values("NVFP4", inlay_table_nvfp4(block, 1, 64), wanted);
    }
}
END_TEST

/* Zero points of rows with three groups each: flat ones share bytes across rows, the others don't. */
START_TEST(zero_points_of_rows)
{
    static const unsigned char data[3 * 48]; /* zeros: the results are the negated zero points */
    static const float scales[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const unsigned char zeros[6] = {0x21, 0xf3, 0x54, 0xf6, 0x87, 0xf9}, flat[5] = {0x21, 0x43, 0x65, 0x87, 0xf9};
    const inlay_table views[2] = {inlay_table_u4_grouped(data, scales, zeros, 3, 96, 32),
                                  inlay_table_u4_grouped_flat(data, scales, flat, 3, 96, 32)};
    for (int i = 0; i < 2; i++) {
        float got[3 * 96];
        dequantize(&views[i], got);
        for (int column = 0; column < 3 * 96; column++)
            EXPECT(got[column] == (float)-(column / 32 + 1), "view %d, column %d is %a", i, column,
                   (double)got[column]);
    }
}
END_TEST

/* Every byte of E4M3 as bfloat16 against scalar, with factors of rows and of the call that make products normal,
   subnormal, zero or infinite. A row has no NaN, or one in any block. The first two rows share a factor. */
START_TEST(e4m3_becomes_bfloat16)
{
    enum { COLUMNS = 7 * 32 + 5, NUMBERS = 4 };
    static const float factors[] = {1,          181.0f / 16384, -0.3f,        0x1p-50f,     0x1.fp-51f,
                                    0x1.fcp50f, 0x1.fcp51f,     0x1.03p-118f, -0x1.fp-120f, -0x1.01p126f,
                                    0,          -0.0f,          INFINITY,     NAN,          0x1.7fp0f,
                                    0x1.ffp-1f};
    enum { FACTORS = sizeof factors / sizeof *factors };
    static unsigned char rows[COUNT][COLUMNS];
    static uint16_t got[COUNT][COLUMNS], wanted[COUNT][COLUMNS];
    for (unsigned i = 0; i < FACTORS * FACTORS * NUMBERS; i++) {
        const bool blocks = i % 3 == 0;
        const float of_rows[COUNT] = {factors[i % FACTORS], factors[i % FACTORS], factors[(i + 1) % FACTORS]};
        unsigned char powers[COUNT][8];
        const unsigned char *row_at[COUNT], *scales_at[COUNT];
        unsigned char *got_at[COUNT], *wanted_at[COUNT];
        for (unsigned r = 0; r < COUNT; r++) {
            for (unsigned c = 0; c < COLUMNS; c++) {
                const unsigned byte = (i * 31 + r * 64 + c) & 255;
                rows[r][c] = (unsigned char)(byte % 128 == 127 ? byte - 1 : byte);
            }
            if ((i + r) % 4 == 0)
                rows[r][i * 11 % COLUMNS] |= 0x7f;
            for (unsigned b = 0; b < 8; b++)
                powers[r][b] = (unsigned char)(i % 2 ? i * 8 + b + r : i % 5 ? 120 + b + r : i % 10 ? 75 + b : 172 + b);
            row_at[r] = rows[r];
            scales_at[r] = blocks ? powers[r] : (const unsigned char *)&of_rows[r];
            got_at[r] = (unsigned char *)got[r];
            wanted_at[r] = (unsigned char *)wanted[r];
        }
        struct inlay_embed_tile tile = {
            .type = blocks ? INLAY_E4M3_E8M0 : INLAY_E4M3,
            .out_type = INLAY_BF16,
            .rows = row_at,
            .scales = scales_at,
            .out = wanted_at,
            .count = COUNT,
            .columns = blocks ? COLUMNS / 32 * 32 : COLUMNS,
            .scale = factors[i / FACTORS % FACTORS],
        };
        inlay_kernels_scalar.embed(&tile);
        tile.out = got_at;
        tested->embed(&tile);
        for (size_t r = 0; r < COUNT; r++)
            for (size_t c = 0; c < tile.columns; c++)
                EXPECT(same_float(element_at(INLAY_BF16, got_at[r], c), element_at(INLAY_BF16, wanted_at[r], c)),
                       "byte %02x, row %a or 2^%d, scale %a: %04x, scalar has %04x", (unsigned)rows[r][c],
                       (double)of_rows[r], powers[r][c / 32] - 127, (double)tile.scale, (unsigned)got[r][c],
                       (unsigned)wanted[r][c]);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "quantized", NULL, NULL, every_length_against_both_guard_pages,
                     every_length_at_every_alignment, outputs_of_16_bits_round_as_scalar_does, every_pattern_of_16_bits,
                     every_byte, bytes_by_hand, groups_of_bytes_and_4_bit_floats, e4m3_becomes_bfloat16,
                     scales_of_4_bit_floats, zero_points_of_rows);
}
