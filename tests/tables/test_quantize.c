/* SPDX-License-Identifier: MIT */
/*
 * inlay_table_quantize(): tables within the errors in the header, bytes computed by hand and by ggml's reference, and
 * every error.
 */
#include "errors/errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number of columns that share a step. */
static size_t shared_columns(inlay_element_type type, size_t dim, size_t group)
{
    if (scale_bytes_in_row(type) > 0)
        return dim;
    return is_grouped(type) ? group : type == INLAY_NVFP4 ? 16 : whole_columns(type) > 1 ? whole_columns(type) : dim;
}

/* Storage with arrays that end at guard pages. */
struct storage {
    struct arena data, scales, zeros;
    inlay_table_storage to;
};

static struct storage make_storage(inlay_element_type type, size_t rows, size_t dim, size_t group, bool zeros,
                                   size_t padding)
{
    struct storage made;
    const size_t row_bytes = inlay_table_row_bytes(type, dim), stride_bytes = row_bytes + padding;
    const size_t groups = is_grouped(type) ? groups_of(dim, group) : 1,
                 scale_bytes = rows * row_scale_bytes(type, dim, group);
    const size_t bytes_of_zeros = zero_bytes(type, rows, groups);
    made.data = arena_make(rows * stride_bytes);
    made.scales = arena_make(scale_bytes);
    made.zeros = arena_make(bytes_of_zeros);
    made.to = inlay_table_storage_of(type, NULL, dim);
    made.to.data = arena_place(&made.data, (rows - 1) * stride_bytes + row_bytes, AT_END, 0);
    made.to.stride_bytes = stride_bytes;
    made.to.group = is_grouped(type) ? (uint32_t)group : 0;
    if (scale_bytes > 0)
        made.to.scales = arena_place(&made.scales, scale_bytes, AT_END, 0);
    if (zeros)
        made.to.zeros = arena_place(&made.zeros, bytes_of_zeros, AT_END, 0);
    return made;
}

static void free_storage(struct storage *storage)
{
    arena_free(&storage->data);
    arena_free(&storage->scales);
    arena_free(&storage->zeros);
}

struct range {
    double least, most;
};

/* Returns the range of n values, ignoring NaN. */
static struct range range_of(const float *values, size_t n)
{
    struct range range = {INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++) {
        const double value = (double)values[i];
        range.least = value < range.least ? value : range.least;
        range.most = value > range.most ? value : range.most;
    }
    return range;
}

/* Returns the maximum error of x, one of the values in a range that share a step, from the header. */
static double allowed(inlay_element_type type, bool zeros, struct range values, double x)
{
    const double least = values.least, most = values.most;
    const double step_floor = 0x1p-126, magnitude = fmax(-least, most), range = most - least;
    const double with_zero = fmax(most, 0) - fmin(least, 0), rounding = magnitude * 0x1p-22;
    const struct type_of_ggml *const ggml = type_of_ggml(type);
    switch (type) {
    case INLAY_F16:
        return fmax(fabs(x) * 0x1p-11, 0x1p-25);
    case INLAY_BF16:
        return fmax(fabs(x) * 0x1p-8, 0x1p-134);
    case INLAY_I8:
    case INLAY_I8_INVERSE:
        return fmax(magnitude / 127, step_floor) * 0.5 + rounding;
    case INLAY_U8_ROWWISE:
        return fmax(range / 255, step_floor) * 0.5 + rounding;
    case INLAY_U4_ROWWISE:
    case INLAY_U4_ROWWISE_FIRST:
        return range / 15 * 0.5 + (fabs(least) + range) * 0x1p-11 + 8 * 0x1p-24 + rounding;
    case INLAY_U2_ROWWISE:
    case INLAY_U2_ROWWISE_FIRST:
        return range / 3 * 0.5 + (fabs(least) + range) * 0x1p-11 + 8 * 0x1p-24 + rounding;
    case INLAY_U8_ROWWISE_FIRST:
        return range / 255 * 0.5 + (fabs(least) + range) * 0x1p-11 + 128 * 0x1p-24 + rounding;
    case INLAY_U4_GROUPED:
        return fmax(zeros ? with_zero / 15 : magnitude / 7, step_floor) * 0.5 + rounding;
    case INLAY_U4_GROUPED_FLAT:
        return fmax(with_zero / 15, step_floor) * 0.5 + rounding;
    case INLAY_I8_GROUPED:
    case INLAY_U8_GROUPED:
        return fmax(zeros ? with_zero / 255 : magnitude / 127, step_floor) * 0.5 + rounding;
    case INLAY_E2M1_F32:
        return fmax(magnitude / 6, step_floor) + rounding;
    case INLAY_U2_AFFINE:
        return fmax(range / 3, step_floor) * 0.5 + rounding;
    case INLAY_U3_AFFINE:
        return fmax(range / 7, step_floor) * 0.5 + rounding;
    case INLAY_U4_AFFINE:
        return fmax(range / 15, step_floor) * 0.5 + rounding;
    case INLAY_U5_AFFINE:
        return fmax(range / 31, step_floor) * 0.5 + rounding;
    case INLAY_U6_AFFINE:
        return fmax(range / 63, step_floor) * 0.5 + rounding;
    case INLAY_U8_AFFINE:
        return fmax(range / 255, step_floor) * 0.5 + rounding;
    case INLAY_E4M3:
        return fmax(fabs(x) / 16, fmax(magnitude / 448, step_floor) / 1024) + rounding;
    case INLAY_E4M3_E8M0:
        return fmax(fabs(x) / 16, fmax(magnitude / 229376, 0x1p-137));
    case INLAY_Q4_1:
        return range / 15 * 0.51 + (fabs(least) + range) * 0x1p-11 + 8 * 0x1p-24 + rounding;
    case INLAY_Q5_1:
        return range / 31 * 0.51 + (fabs(least) + range) * 0x1p-11 + 16 * 0x1p-24 + rounding;
    case INLAY_MXFP4:
        return fmax(magnitude / 4, 0x1p-129);
    case INLAY_NVFP4:
        return magnitude * 0.18 + 6 * 0x1p-10;
    default:
        return ggml == NULL ? 0
                            : ggml->share * (ggml->span == WITH_ZERO ? with_zero : magnitude) + ggml->least * 0x1p-24;
    }
}

static void check_type(inlay_element_type type, size_t rows, size_t dim, size_t group, bool zeros, const float *x,
                       const char *what)
{
    struct storage storage = make_storage(type, rows, dim, group, zeros, dim % 5);
    const inlay_table from = inlay_table_f32(x, rows, dim);
    const size_t shared = shared_columns(type, dim, group);
    float *got = malloc(rows * dim * sizeof *got);
    inlay_table view;
    struct range range = {0, 0};
    double reported = -1, largest = 0;
    ck_assert_int_eq(inlay_table_quantize(&from, &storage.to, &view, &reported), INLAY_OK);
    dequantize(&view, got);
    count_checks(rows * dim);
    for (size_t i = 0; i < rows * dim; i++) {
        if (i % dim % shared == 0)
            range = range_of(x + i, shared < dim - i % dim ? shared : dim - i % dim);
        double error = fabs((double)got[i] - (double)x[i]);
        if (!(error <= allowed(type, zeros, range, (double)x[i])))
            ck_abort_msg("%s, type %d, dim %zu, group %zu, zeros %d: element %zu: %a became %a", what, (int)type, dim,
                         group, zeros, i, (double)x[i], (double)got[i]);
        largest = error > largest ? error : largest;
    }
    EXPECT(reported == largest, "%s, type %d, dim %zu: an error of %a is said to be %a", what, (int)type, dim, largest,
           reported);
    EXPECT(arena_untouched_outside(&storage.data, view.data, rows, view.stride_bytes, inlay_table_row_bytes(type, dim)),
           "type %d, dim %zu: wrote outside its rows", (int)type, dim);
    free(got);
    free_storage(&storage);
}

/* Checks every type that supports this many columns and these values. */
static void check_types(size_t rows, size_t dim, const float *x, const char *what)
{
    bool negative = false;
    for (size_t i = 0; i < rows * dim; i++)
        negative = negative || x[i] < 0;
    for (inlay_element_type type = INLAY_F32; type < INLAY_ELEMENT_TYPES; type++)
        for (size_t group = narrowest_group(type); group <= (is_grouped(type) ? 128 : 16); group *= 2)
            for (int zeros = 0; zeros <= has_zeros(type); zeros++)
                if (dim % whole_columns(type) == 0 && !(type == INLAY_U4_GROUPED_FLAT && !zeros && negative))
                    check_type(type, rows, dim, group, zeros, x, what);
}

START_TEST(errors_are_within_their_bounds)
{
    enum { COUNT = 4, LARGEST = 2080 };
    static const size_t dims[] = {1, 2, 3, 7, 31, 32, 33, 64, 96, 128, 255, 256, 257, 288, 384, 640, 768, 1111, 2080};
    static const double sizes[] = {1, 0.02, 1000, 1e-3, 1e-6, 1e-9, 1e-30, 1e-38, 1e-44};
    static float x[COUNT * LARGEST];
    struct random random = {5};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
            /* Numbers of both signs, of either sign, close to each other but far from 0, and few. */
            static const double first[] = {-1, -1, 1, 1, 0}, range[] = {2, -1, 1, 1e-4, -1};
            for (int kind = 0; kind < 5; kind++) {
                for (size_t i = 0; i < COUNT * dims[d]; i++) {
                    double u = (double)(random_bits(&random) >> 11) * 0x1p-53;
                    u = kind < 4 ? u : u > 0.9 ? u - 0.95 : 0;
                    x[i] = (float)(sizes[size] * (first[kind] + range[kind] * u));
                }
                check_types(COUNT, dims[d], x, "random numbers");
            }
            for (size_t i = 0; i < COUNT * dims[d]; i++)
                x[i] = (float)(i / dims[d] == 1 ? -sizes[size] : sizes[size]);
            check_types(COUNT, dims[d], x, "constant rows");
        }
}
END_TEST

START_TEST(zeros_stay_zeros)
{
    enum { COLUMNS = 256 };
    static const float zeros[2 * COLUMNS];
    static float got[2 * COLUMNS];
    const inlay_table from = inlay_table_f32(zeros, 2, COLUMNS);
    for (inlay_element_type type = INLAY_F16; type < INLAY_ELEMENT_TYPES; type++)
        for (int with = 0; with <= has_zeros(type); with++) {
            struct storage storage = make_storage(type, 2, COLUMNS, 64, with, 0);
            inlay_table view;
            double error = -1;
            ck_assert_int_eq(inlay_table_quantize(&from, &storage.to, &view, &error), INLAY_OK);
            EXPECT(error == 0, "zeros of type %d have an error of %a", (int)type, error);
            if (type == INLAY_E4M3_E8M0)
                EXPECT(((const unsigned char *)view.scales)[0] == 127, "the scale of zeros is not 1");
            else if (view.scales != NULL)
                EXPECT(float_at(view.scales, 0) == 1, "the scale of zeros of type %d is %a", (int)type,
                       (double)float_at(view.scales, 0));
            dequantize(&view, got);
            for (int i = 0; i < 2 * COLUMNS; i++)
                EXPECT(got[i] == 0, "a zero of type %d is read as %a", (int)type, (double)got[i]);
            free_storage(&storage);
        }
}
END_TEST

/* Expects the bytes of one row of a type, with `scales` and `zeros` for its separate arrays. */
static void expect_bytes(inlay_element_type type, const float *x, size_t dim, void *scales, const void *wanted)
{
    unsigned char bytes[256 + 256 / 32 * 2]; /* 256 columns of INLAY_Q8_0 */
    const inlay_table from = inlay_table_f32(x, 1, dim);
    inlay_table_storage to = inlay_table_storage_of(type, bytes, dim);
    to.scales = scales;
    ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, NULL), INLAY_OK);
    EXPECT(memcmp(bytes, wanted, to.stride_bytes) == 0, "type %d: other bytes than those worked out", (int)type);
}

START_TEST(bytes_by_hand)
{
    static const float row[32] = {-4, 3.9f, 0.25f, -0.25f, 0.74f, 2, [16] = -2, [17] = 3.4f, [31] = 0.3f};
    float scale;
    /* d = -4 / -8 = 0.5: q = trunc(x / d + 8.5). */
    unsigned char q4_0[18] = {0x00, 0x38, 0x40, 0xff, 0x89, 0x88, 0x89, 0x8c};
    memset(q4_0 + 8, 0x88, 9);
    q4_0[17] = 0x98;
    expect_bytes(INLAY_Q4_0, row, 32, NULL, q4_0);
    /* The scale is 127 / 4: q = round(x * 31.75). */
    const signed char i8[32] = {-127, 124, 8, -8, 23, 64, [16] = -64, [17] = 108, [31] = 10};
    expect_bytes(INLAY_I8_INVERSE, row, 32, &scale, i8);
    EXPECT(scale == 31.75f, "the inverse scale is %a", (double)scale);
    /* The scale of such a small row would be infinite; it is limited to 2^126. */
    static const float small[32] = {0x1p-126f, -0x1p-126f, 0x1p-130f};
    static const signed char small_i8[32] = {1, -1};
    expect_bytes(INLAY_I8_INVERSE, small, 32, &scale, small_i8);
    EXPECT(scale == 0x1p126f, "the inverse scale of a small row is %a", (double)scale);
    expect_bytes(INLAY_I8, row, 32, &scale, i8);
    EXPECT(scale == 4 / 127.0f, "the scale is %a", (double)scale);
    /* d = 4 / 127 = 0x1.02040810p-5, as a float16 0x2808. */
    unsigned char q8_0[34] = {0x08, 0x28};
    memcpy(q8_0 + 2, i8, 32);
    expect_bytes(INLAY_Q8_0, row, 32, NULL, q8_0);
    /* d = 2: ties go away from zero. */
    static const float ties[32] = {254, 1, -1, 5, -5, 2.9f};
    const signed char away[34] = {0x00, 0x40, 127, 1, -1, 3, -3, 1};
    expect_bytes(INLAY_Q8_0, ties, 32, NULL, away);
    /* -1 to 14 in steps of 1: exact in 4 bits. */
    float few[4] = {-1, 14, 0, 6.6f};
    const unsigned char rowwise_4[] = {0xf0, 0x81, 0x00, 0x3c, 0x00, 0xbc};
    expect_bytes(INLAY_U4_ROWWISE, few, 4, NULL, rowwise_4);
    /* Numbers are relative to the stored bias: 1000.3 becomes 1000.5 (0x63d1), the step 0.2 0x3266. */
    const float high[4] = {1000.3f, 1003.3f, 1001.3f, 1002.3f};
    const unsigned char rowwise_high[] = {0xe0, 0x94, 0x66, 0x32, 0xd1, 0x63};
    expect_bytes(INLAY_U4_ROWWISE, high, 4, NULL, rowwise_high);
    /* The same before the numbers. */
    const unsigned char first_4[] = {0x00, 0x3c, 0x00, 0xbc, 0xf0, 0x81};
    expect_bytes(INLAY_U4_ROWWISE_FIRST, few, 4, NULL, first_4);
    /* Same for -1 to 254, with a float32 scale of 1 and a bias of -1. */
    few[1] = 254;
    const unsigned char rowwise_8[] = {0, 255, 1, 8, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf};
    expect_bytes(INLAY_U8_ROWWISE, few, 4, NULL, rowwise_8);
}
END_TEST

/* E4M3 has 3 bits after the leading one; 1 is 0x38. Ties go to even, also between subnormal multiples of 2^-9, and if a
   carry changes the exponent. */
START_TEST(fp8_by_hand)
{
    static const float row[32] = {1,        -1,       1.0625f,   1.1875f, 1.9375f,   448, -448, 0x1p-9f, -0.0f,
                                  0x1p-10f, 0x3p-10f, 0x1.ep-7f, 0x1p-6f, 0x1.8p-9f, 17,  19,   0x1p-30f};
    const unsigned char wanted[32] = {0x38, 0xb8, 0x38, 0x3a, 0x40, 0x7e, 0xfe, 0x01, 0x80,
                                      0x00, 0x02, 0x08, 0x08, 0x02, 0x58, 0x5a, 0x00};
    float scale, doubled[32];
    unsigned char power;
    expect_bytes(INLAY_E4M3, row, 32, NULL, wanted);
    expect_bytes(INLAY_E4M3, row, 32, &scale, wanted);
    EXPECT(scale == 1, "the scale is %a", (double)scale);
    expect_bytes(INLAY_E4M3_E8M0, row, 32, &power, wanted);
    EXPECT(power == 127, "the scale is 2^(%d - 127)", power);
    for (int i = 0; i < 32; i++)
        doubled[i] = row[i] * 0x1p-100f;
    expect_bytes(INLAY_E4M3_E8M0, doubled, 32, &power, wanted);
    EXPECT(power == 27, "the scale is 2^(%d - 127)", power);
    /* The next number above 448 uses the next power of two. */
    doubled[5] = nextafterf(448 * 0x1p-100f, 1);
    const inlay_table from = inlay_table_f32(doubled, 1, 32);
    unsigned char bytes[32];
    inlay_table_storage to = inlay_table_storage_of(INLAY_E4M3_E8M0, bytes, 32);
    to.scales = &power;
    ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, NULL), INLAY_OK);
    EXPECT(power == 28 && bytes[5] == 0x76, "%02x and 2^(%d - 127)", bytes[5], power);
    for (int i = 0; i < 32; i++) /* beyond the smallest power of two */
        doubled[i] = row[i] * 0x1p-128f;
    ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, NULL), INLAY_OK);
    EXPECT(power == 0 && bytes[0] == 0x30, "%02x and 2^(%d - 127)", bytes[0], power);
}
END_TEST

/* Without scales, int8 and E4M3 tables store numbers unchanged. */
START_TEST(scales_may_be_missing)
{
    static const float largest[2] = {127, 448}, error[2] = {0.5f, 16};
    static const inlay_element_type types[2] = {INLAY_I8, INLAY_E4M3};
    for (int t = 0; t < 2; t++) {
        unsigned char bytes[256];
        float x[256], got[256];
        double reported;
        inlay_table view;
        const inlay_table from = inlay_table_f32(x, 1, 256);
        const inlay_table_storage to = inlay_table_storage_of(types[t], bytes, 256);
        for (int i = 0; i < 256; i++)
            x[i] = largest[t] * (float)(i - 128) / 128;
        ck_assert_int_eq(inlay_table_quantize(&from, &to, &view, &reported), INLAY_OK);
        EXPECT(view.scales == NULL && reported <= (double)error[t], "type %d: an error of %a", (int)types[t], reported);
        dequantize(&view, got);
        EXPECT(got[0] == -largest[t] && got[128] == 0, "type %d: %a and %a", (int)types[t], (double)got[0],
               (double)got[128]);
        x[7] = nextafterf(largest[t], 1000);
        bytes[0] = 77;
        ck_assert_int_eq(inlay_table_quantize(&from, &to, &view, &reported), INLAY_ERROR_OPTION);
        EXPECT(bytes[0] == 77, "wrote before an error");
    }
}
END_TEST

/* Three rows of one group and three of three, so flat zero points of different rows share bytes. */
START_TEST(zero_points_by_hand)
{
    static float x[3 * 96];
    unsigned char data[3 * 48], zeros[6];
    float scales[9];
    for (size_t groups = 1; groups <= 3; groups += 2) {
        const size_t dim = 32 * groups;
        const inlay_table from = inlay_table_f32(x, 3, dim);
        for (size_t i = 0; i < 3 * groups; i++) { /* -i - 1 to 14 - i: the step is 1, the zero point i + 1 */
            x[32 * i] = -(float)i - 1;
            x[32 * i + 1] = 14 - (float)i;
        }
        const unsigned char padded[2][6] = {{0x01, 0x02, 0x03}, {0x21, 0x03, 0x54, 0x06, 0x87, 0x09}};
        const unsigned char flat[2][5] = {{0x21, 0x03}, {0x21, 0x43, 0x65, 0x87, 0x09}};
        for (int is_flat = 0; is_flat < 2; is_flat++) {
            const inlay_element_type type = is_flat ? INLAY_U4_GROUPED_FLAT : INLAY_U4_GROUPED;
            inlay_table_storage to = {sizeof to, data, dim / 2, type, 32, scales, zeros};
            double error;
            memset(zeros, 0xff, sizeof zeros);
            ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, &error), INLAY_OK);
            EXPECT(error == 0, "groups %zu, flat %d: an error of %a", groups, is_flat, error);
            EXPECT(memcmp(zeros, is_flat ? flat[groups / 2] : padded[groups / 2],
                          is_flat ? (3 * groups + 1) / 2 : 3 * ((groups + 1) / 2)) == 0,
                   "groups %zu, flat %d: other zero points", groups, is_flat);
        }
    }
    /* Without zero points: numbers from 0 to 15, with zero point 0. */
    float from_0[32] = {0, 30, 2, 4, -0.0f};
    const inlay_table from = inlay_table_f32(from_0, 1, 32);
    inlay_table_storage to = {sizeof to, data, 16, INLAY_U4_GROUPED_FLAT, 32, scales, NULL};
    ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, NULL), INLAY_OK);
    EXPECT(data[0] == 0xf0 && data[1] == 0x21 && data[2] == 0 && scales[0] == 2, "%02x %02x, scale %a", data[0],
           data[1], (double)scales[0]);
    from_0[31] = -0x1p-149f;
    data[0] = 7;
    ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, NULL), INLAY_ERROR_OPTION);
    EXPECT(data[0] == 7, "a negative value is an error after the first write");
}
END_TEST

static uint16_t half_of(float x)
{
    uint16_t half;
    const inlay_table from = inlay_table_f32(&x, 1, 1);
    const inlay_table_storage to = inlay_table_storage_of(INLAY_F16, &half, 1);
    ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, NULL), INLAY_OK);
    return half;
}

/* Blocks of ggml's types with a rule that inlay shares, including ties and float16 steps that underflow. Digests were
   taken when blocks equaled those of ggml's quantize_row_*_ref, except underflowing ones; tests/interop/formats.py
   compares with gguf. */
START_TEST(bytes_are_those_of_ggml)
{
    enum { BLOCKS = 20000 };
    static const struct {
        inlay_element_type type;
        const char *sha256;
    } types[] = {
        {INLAY_Q8_0, "73a5b226ef1ad35c41a3de044e662956f2f5c314aedae5436f6738462385732b"},
        {INLAY_Q4_0, "28451813a38245c2feba6fd212de31d823e16c9ee322bd93459133875572ca67"},
        {INLAY_Q4_1, "a758769a2d444536fc2e326334b3e51487ee179c3430ef216cd45bc1fb4d05a8"},
        {INLAY_Q5_0, "9622a838b3c59b82626d2ab387738efb49a317bc55bec9889bed042b77da9ef3"},
        {INLAY_Q5_1, "e70933046f794c893ca41487a32173a2ea5adf2c580b769364f878721ed3e67c"},
    };
    static float x[BLOCKS][32];
    static unsigned char bytes[BLOCKS * 34];
    const inlay_table from = inlay_table_f32(x, BLOCKS, 32);
    struct random random = {9};
    for (int i = 0; i < BLOCKS; i++) {
        const double size = ldexp(1, (int)random_below(&random, 36) - 24);
        for (int k = 0; k < 32; k++)
            x[i][k] = (float)(size * ((double)random_below(&random, i % 2 ? 257 : UINT64_C(1) << 40) /
                                          (i % 2 ? 128 : ldexp(1, 39)) -
                                      1));
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const inlay_table_storage to = inlay_table_storage_of(types[t].type, bytes, 32);
        ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, NULL), INLAY_OK);
        const struct digest digest = sha256(bytes, BLOCKS * to.stride_bytes);
        EXPECT(strcmp(digest.text, types[t].sha256) == 0, "type %d: %s", (int)types[t].type, digest.text);
    }
}
END_TEST

/* Kinds of values: normal ones, those minus 8, between -2 and -1, normal ones with zeros in place of small ones, and
   with -5 in place of every other 32. */
enum kind { NORMAL, SHIFTED, NEGATIVE, SPARSE, CONSTANT, KINDS };

static void fill(float *x, size_t count, enum kind kind)
{
    const inlay_random_spec normal = inlay_random_spec_default(INLAY_RANDOM_NORMAL, 1);
    struct random random = {5};
    ck_assert_int_eq(inlay_table_random(&normal, x, count / 256, 256, 256 * sizeof x[0]), INLAY_OK);
    for (size_t i = 0; i < count; i++)
        if (kind == SHIFTED)
            x[i] -= 8;
        else if (kind == NEGATIVE)
            x[i] = (float)((double)(random_bits(&random) >> 11) * -0x1p-53 - 1);
        else if (kind == SPARSE)
            x[i] = fabs((double)x[i]) > 2 ? x[i] : 0;
        else if (kind == CONSTANT)
            x[i] = i / 32 % 2 ? -5 : x[i];
}

static const inlay_element_type searched_types[] = {INLAY_Q2_K, INLAY_Q3_K,   INLAY_Q4_K,  INLAY_Q5_K,
                                                    INLAY_Q6_K, INLAY_IQ4_NL, INLAY_IQ4_XS};
enum { SEARCHED_TYPES = sizeof searched_types / sizeof *searched_types };

/* The root mean square of errors is a share of the one that ggml's quantizer has for the same numbers, without an
   importance matrix. Half of the bias of least squares is left: values shrink by half of the relative squared error. */
START_TEST(errors_are_smaller_than_those_of_ggml)
{
    enum { COUNT = 512, COLUMNS = 256, ALL = COUNT * COLUMNS };
    static const double ggml[KINDS][SEARCHED_TYPES] = {
        {0.295860, 0.151227, 0.071484, 0.036201, 0.017785, 0.076046, 0.076605},
        {0.301695, 0.610806, 0.076219, 0.039955, 0.076279, 0.443176, 0.447221},
        {0.070513, 0.123399, 0.016731, 0.008879, 0.015062, 0.083506, 0.084239},
        {0.220047, 0.023288, 0.018348, 0.015034, 0.002205, 0.024178, 0.024731},
        {0.212269, 0.107632, 0.051506, 0.026684, 0.012851, 0.053864, 0.055208},
    };
    static const double wanted[KINDS][SEARCHED_TYPES] = {
        {0.8872, 0.9535, 0.9812, 0.9538, 0.9677, 0.9774, 0.9783},
        {0.9046, 0.9606, 0.9388, 0.9008, 0.9897, 0.9903, 0.9874},
        {0.9209, 0.9635, 0.9466, 0.9079, 0.9865, 0.9899, 0.9891},
        {0.1615, 0.6994, 0.6100, 0.4846, 0.9589, 0.9588, 0.9565},
        {0.8844, 0.9614, 0.9716, 0.9296, 0.9801, 0.9774, 0.9832},
    };
    static float x[ALL], got[ALL];
    static unsigned char bytes[ALL];
    const inlay_table from = inlay_table_f32(x, COUNT, COLUMNS);
    for (enum kind kind = NORMAL; kind < KINDS; kind++) {
        fill(x, ALL, kind);
        for (size_t t = 0; t < SEARCHED_TYPES; t++) {
            const inlay_table_storage to = inlay_table_storage_of(searched_types[t], bytes, COLUMNS);
            inlay_table view;
            double squares = 0, shrunk = 0;
            ck_assert_int_eq(inlay_table_quantize(&from, &to, &view, NULL), INLAY_OK);
            dequantize(&view, got);
            for (size_t i = 0; i < ALL; i++) {
                const double value = (double)x[i], error = value - (double)got[i];
                squares += error * error;
                shrunk += error * value;
            }
            const double share = sqrt(squares / ALL) / ggml[kind][t];
            EXPECT(share <= wanted[kind][t], "kind %d, type %d: %.4f of the error of ggml", (int)kind, (int)to.type,
                   share);
            EXPECT(kind != NORMAL || fabs(shrunk / squares) < 0.65, "type %d: shrunk by %.2f of the squared error",
                   (int)to.type, shrunk / squares);
        }
    }
}
END_TEST

/* Values too small for float16 scales don't become larger errors. */
START_TEST(errors_of_tiny_values_are_tiny)
{
    static const double sizes[] = {1e-42, 1e-12, 1e-9, 1e-7, 1e-6};
    static float x[256], got[256];
    unsigned char bytes[256];
    const inlay_table from = inlay_table_f32(x, 1, 256);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < SEARCHED_TYPES; t++) {
            const inlay_table_storage to = inlay_table_storage_of(searched_types[t], bytes, 256);
            inlay_table view;
            double squares = 0, all = 0;
            for (int i = 0; i < 256; i++)
                x[i] = (float)(sizes[s] * cos(i + 0.5));
            ck_assert_int_eq(inlay_table_quantize(&from, &to, &view, NULL), INLAY_OK);
            dequantize(&view, got);
            for (int i = 0; i < 256; i++) {
                squares += ((double)x[i] - (double)got[i]) * ((double)x[i] - (double)got[i]);
                all += (double)x[i] * (double)x[i];
            }
            EXPECT(squares <= all, "type %d, values of %g: %g of their size", (int)to.type, sizes[s],
                   sqrt(squares / all));
        }
}
END_TEST

/* Blocks that start with -0 have the same bytes as blocks of 0, with scale 0. They become 0, not -0. */
START_TEST(zeros_of_either_sign_have_the_same_bytes)
{
    static const inlay_element_type types[] = {INLAY_Q8_0, INLAY_MXFP4,  INLAY_NVFP4, INLAY_Q3_K,
                                               INLAY_Q6_K, INLAY_IQ4_XS, INLAY_IQ3_S};
    static const float zeros[256];
    float minus[256], mixed[256], got[256];
    for (int k = 0; k < 256; k++) {
        minus[k] = -0.0f;
        mixed[k] = k % 2 ? 0.0f : -0.0f;
    }
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        unsigned char wanted[sizeof zeros];
        const inlay_table from = inlay_table_f32(zeros, 1, 256);
        const inlay_table_storage to = inlay_table_storage_of(types[t], wanted, 256);
        inlay_table view;
        ck_assert_int_eq(inlay_table_quantize(&from, &to, &view, NULL), INLAY_OK);
        dequantize(&view, got);
        EXPECT(memcmp(got, zeros, sizeof zeros) == 0, "type %d: zeros became other bits", (int)types[t]);
        expect_bytes(types[t], minus, 256, NULL, wanted);
        expect_bytes(types[t], mixed, 256, NULL, wanted);
    }
}
END_TEST

START_TEST(sixteen_bits_round_trip)
{
    static uint16_t row[65536], again[65536];
    static float values[65536];
    for (unsigned bits = 0; bits < 65536; bits++)
        row[bits] = (uint16_t)bits;
    for (inlay_element_type type = INLAY_F16; type <= INLAY_BF16; type++) {
        const inlay_table view = inlay_table_view(type, row, 1, 65536, sizeof row),
                          from = inlay_table_f32(values, 1, 65536);
        const inlay_table_storage to = inlay_table_storage_of(type, again, 65536);
        double error;
        dequantize(&view, values);
        ck_assert_int_eq(inlay_table_quantize(&from, &to, NULL, &error), INLAY_OK);
        EXPECT(error == 0, "the error is %a", error);
        for (unsigned bits = 0; bits < 65536; bits++)
            EXPECT(again[bits] == bits || isnan(values[bits]), "type %d: %04x became %04x", (int)type, bits,
                   again[bits]);
    }
    /* Between float16's largest number and the next power of two, ties, and numbers too small to matter. */
    const float edges[] = {65519.996f, 65520, -1e30f, 0x1.002p0f, 0x1.006p0f, 0x1p-25f, 0x1.8p-25f, -0x1p-26f};
    const uint16_t f16[] = {0x7bff, 0x7c00, 0xfc00, 0x3c00, 0x3c02, 0, 1, 0x8000};
    for (int i = 0; i < 8; i++)
        EXPECT(half_of(edges[i]) == f16[i], "%a became %04x", (double)edges[i], half_of(edges[i]));
    EXPECT((half_of(NAN) & 0x7fff) > 0x7c00, "NaN became %04x", half_of(NAN));
}
END_TEST

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/* Returns the largest magnitude that a type can hold. */
static float largest_of(inlay_element_type type)
{
    if (scale_bytes_in_row(type) == 4)
        return 65504;
    switch (type) {
    case INLAY_F32:
    case INLAY_F16:
    case INLAY_BF16:
        return 0x1.fffffep127f;
    case INLAY_MXFP4:
        return 0x1p126f;
    case INLAY_NVFP4:
        return 2688;
    default:
        return type_of_ggml(type) != NULL ? 65504 : 0x1p126f;
    }
}

START_TEST(largest_values)
{
    for (inlay_element_type type = INLAY_F32; type < INLAY_ELEMENT_TYPES; type++) {
        enum { COLUMNS = 256 };
        static float x[2 * COLUMNS];
        struct storage storage = make_storage(type, 2, COLUMNS, 32, true, 0);
        const inlay_table from = inlay_table_f32(x, 2, COLUMNS);
        const bool any = type <= INLAY_BF16;
        const float limit = largest_of(type);
        /* First values that are too large, then the largest of both signs. */
        const float above = nextafterf(limit, INFINITY);
        const float values[] = {above, -above, INFINITY, -INFINITY, NAN, limit, -limit};
        if (!has_zeros(type))
            storage.to.zeros = NULL;
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            const bool fits = any || i >= 5;
            double error = -7;
            x[2 * COLUMNS - 1] = values[i];
            const inlay_status status = inlay_table_quantize(&from, &storage.to, NULL, &error);
            EXPECT(status == (fits ? INLAY_OK : INLAY_ERROR_OPTION), "type %d, %a: \"%s\"", (int)type,
                   (double)values[i], inlay_status_string(status));
            EXPECT(fits || (error == -7 && arena_untouched(&storage.data)), "type %d: wrote before an error",
                   (int)type);
            EXPECT(any || !fits || error <= (type == INLAY_IQ3_S ? 0.07 : 0.05) * (double)limit,
                   "type %d: the largest has an error of %a", (int)type, error);
        }
        free_storage(&storage);
    }
}
END_TEST

/* Everything that a call reads or writes, in one block of memory. */
enum { DATA, SCALES, ZEROS, VIEW, ERROR, FROM_DATA, FROM, TO, OBJECTS, OUTPUTS = FROM_DATA, ROOM = 1024 };

/* Three rows of three groups: 48 bytes, 12 of scales and 2 of zero points each, from 96 floats and 8 bytes of
   padding. */
static const size_t object_bytes[OBJECTS] = {
    144, 36, 6, sizeof(inlay_table), sizeof(double), 1168, sizeof(inlay_table), sizeof(inlay_table_storage)};
static _Alignas(64) unsigned char memory[2 * OBJECTS * ROOM], before[sizeof memory];

static inlay_status quantize_at(const size_t at[OBJECTS])
{
    inlay_table *from = (void *)(memory + at[FROM]);
    inlay_table_storage *to = (void *)(memory + at[TO]);
    memset(memory, 0, sizeof memory);
    *from = inlay_table_f32(memory + at[FROM_DATA], 3, 96);
    from->stride_bytes += 8;
    *to = inlay_table_storage_of(INLAY_U4_GROUPED, memory + at[DATA], 96);
    to->group = 32;
    to->scales = memory + at[SCALES];
    to->zeros = memory + at[ZEROS];
    memcpy(before, memory, sizeof memory);
    return inlay_table_quantize(from, to, (void *)(memory + at[VIEW]), (void *)(memory + at[ERROR]));
}

START_TEST(overlaps)
{
    size_t places[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++)
        places[i] = (2 * i + 1) * ROOM;
    ck_assert_int_eq(quantize_at(places), INLAY_OK);
    for (size_t i = 0; i < OUTPUTS; i++)
        for (size_t j = 0; j < OBJECTS; j++) {
            /* Overlapping the last byte of the other one, overlapping its first byte, and adjacent. */
            const size_t unit = i == VIEW || i == ERROR ? 8 : 1, end = object_bytes[j] / unit * unit;
            const size_t bytes = (object_bytes[i] + unit - 1) / unit * unit;
            const size_t tries[] = {0, (object_bytes[j] - 1) / unit * unit, (size_t)0 - bytes + unit,
                                    end < object_bytes[j] ? end + unit : end, (size_t)0 - bytes};
            for (size_t k = 0; i != j && k < sizeof tries / sizeof *tries; k++) {
                size_t at[OBJECTS];
                memcpy(at, places, sizeof at);
                at[i] = places[j] + tries[k];
                const inlay_status status = quantize_at(at), wanted = k < 3 ? INLAY_ERROR_OVERLAP : INLAY_OK;
                EXPECT(status == wanted, "object %zu, object %zu, place %zu: \"%s\"", i, j, k,
                       inlay_status_string(status));
                EXPECT(status == INLAY_OK || memcmp(memory, before, sizeof memory) == 0, "an overlapping call wrote");
            }
        }
}
END_TEST

START_TEST(arguments)
{
    static float x[64];
    unsigned char bytes[64], untouched[64];
    float scale = 3;
    inlay_table from = inlay_table_f32(x, 1, 64), view;
    inlay_table_storage to = inlay_table_storage_of(INLAY_I8, bytes, 64);
    double error = 7;
    memset(bytes, 0x5a, sizeof bytes);
    memcpy(untouched, bytes, sizeof bytes);
    to.scales = &scale;
#define EXPECT_FIELD(wanted, object, field, value)                                                                     \
    EXPECT_WITH(wanted, object, field, value, inlay_table_quantize(&from, &to, &view, &error))
    EXPECT_STATUS(inlay_table_quantize(NULL, &to, &view, &error), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_table_quantize(&from, NULL, &view, &error), INLAY_ERROR_NULL);
    EXPECT_FIELD(INLAY_ERROR_OPTION, from, size, sizeof from - 1);
    EXPECT_FIELD(INLAY_ERROR_OPTION, from, vocab, 2);
    EXPECT_FIELD(INLAY_ERROR_OPTION, from, type, INLAY_F16);
    EXPECT_FIELD(INLAY_ERROR_NULL, from, data, NULL);
    EXPECT_FIELD(INLAY_ERROR_STRIDE, from, stride_bytes, 255);
    EXPECT_FIELD(INLAY_ERROR_OVERFLOW, from, rows, SIZE_MAX / 8);
    EXPECT_FIELD(INLAY_ERROR_OPTION, to, size, sizeof to - 1);
    EXPECT_FIELD(INLAY_ERROR_OPTION, to, size, 1025);
    EXPECT_FIELD(INLAY_ERROR_NULL, to, data, NULL);
    EXPECT_FIELD(INLAY_ERROR_STRIDE, to, stride_bytes, 63);
    EXPECT_FIELD(INLAY_ERROR_OPTION, to, type, (inlay_element_type)0);
    EXPECT_FIELD(INLAY_ERROR_OPTION, to, type, (inlay_element_type)INLAY_ELEMENT_TYPES);
    EXPECT_FIELD(INLAY_ERROR_OPTION, to, group, 32);
    to.type = INLAY_I8_INVERSE;
    EXPECT_FIELD(INLAY_ERROR_NULL, to, scales, NULL);
    to.type = INLAY_I8;
    EXPECT_FIELD(INLAY_ERROR_OPTION, to, zeros, x);
    EXPECT(memcmp(bytes, untouched, sizeof bytes) == 0 && scale == 3 && error == 7, "an error wrote something");
    from.rows = 0;
    EXPECT_STATUS(inlay_table_quantize(&from, &to, &view, &error), INLAY_OK);
    EXPECT(error == 0 && view.rows == 0, "nothing has an error of %a", error);
    from.rows = 1;
    ck_assert_int_eq(inlay_table_quantize(&from, &to, &view, NULL), INLAY_OK);
    const inlay_table wanted = inlay_table_i8(bytes, &scale, 1, 64);
    EXPECT(memcmp(&view, &wanted, sizeof view) == 0, "another view than that of the constructor");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "quantize", make_fixture, free_fixture, errors_are_within_their_bounds,
                     zeros_stay_zeros, bytes_by_hand, fp8_by_hand, scales_may_be_missing, zero_points_by_hand,
                     bytes_are_those_of_ggml, errors_are_smaller_than_those_of_ggml, errors_of_tiny_values_are_tiny,
                     zeros_of_either_sign_have_the_same_bytes, sixteen_bits_round_trip, largest_values, overlaps,
                     arguments);
}
