/* SPDX-License-Identifier: MIT */
/*
 * Memory layout and names of element types.
 */
#include "table/element.h"

/* MLX's affine type with `bits` bits per number. */
#define AFFINE(bits)                                                                                                   \
    {                                                                                                                  \
        {"u" #bits "_affine"}, .log2_columns = 5, .block_bytes = 4 * (bits), .scales = INLAY_SCALES_PER_GROUP,         \
                               .scale_bytes = 2 * sizeof(float)                                                        \
    }

/* Rows with a float16 scale and bias. */
#define ROWWISE(name, log2, bytes, is_first)                                                                           \
    {                                                                                                                  \
        {name}, .log2_columns = (log2), .block_bytes = (bytes), .scales = INLAY_SCALES_IN_ROW, .scale_bytes = 4,       \
                .first = (is_first)                                                                                    \
    }

const struct inlay_row_format inlay_row_formats[INLAY_ELEMENT_TYPES] = {
    [INLAY_F32] = {{"float32", "F32", "fp32", "float", "single"}, .block_bytes = 4},
    [INLAY_F16] = {{"float16", "F16", "fp16", "half"}, .block_bytes = 2},
    [INLAY_BF16] = {{"bfloat16", "BF16"}, .block_bytes = 2},
    [INLAY_I8] = {{"i8", "I8", "int8"},
                  .block_bytes = 1,
                  .scales = INLAY_SCALES_PER_ROW,
                  .scale_bytes = sizeof(float),
                  .optional = true},
    [INLAY_I8_INVERSE] = {{"i8_inverse"},
                          .block_bytes = 1,
                          .scales = INLAY_SCALES_PER_ROW,
                          .scale_bytes = sizeof(float)},
    [INLAY_U8_ROWWISE] = {{"u8_rowwise"}, .block_bytes = 1, .scales = INLAY_SCALES_IN_ROW, .scale_bytes = 8},
    [INLAY_U4_ROWWISE] = ROWWISE("u4_rowwise", 1, 1, false),
    [INLAY_U4_GROUPED] = {{"u4_grouped"},
                          .zeros_in_byte = 2,
                          .log2_columns = 1,
                          .block_bytes = 1,
                          .scales = INLAY_SCALES_PER_GROUP,
                          .scale_bytes = sizeof(float)},
    [INLAY_U4_GROUPED_FLAT] = {{"u4_grouped_flat"},
                               .zeros_in_byte = 2,
                               .log2_columns = 1,
                               .block_bytes = 1,
                               .scales = INLAY_SCALES_PER_GROUP,
                               .scale_bytes = sizeof(float)},
    [INLAY_Q8_0] = {{"q8_0", "Q8_0"}, .log2_columns = 5, .block_bytes = 34},
    [INLAY_Q4_0] = {{"q4_0", "Q4_0"}, .log2_columns = 5, .block_bytes = 18},
    [INLAY_E4M3] = {{"e4m3", "F8_E4M3", "fp8", "e4m3fn", "fp8_e4m3", "fp8_e4m3fn", "float8_e4m3fn"},
                    .block_bytes = 1,
                    .scales = INLAY_SCALES_PER_ROW,
                    .scale_bytes = sizeof(float),
                    .optional = true},
    [INLAY_E4M3_E8M0] = {{"e4m3_e8m0", "MXFP8"},
                         .log2_columns = 5,
                         .block_bytes = 32,
                         .scales = INLAY_SCALES_PER_BLOCK,
                         .scale_bytes = 1},
    [INLAY_Q4_1] = {{"q4_1", "Q4_1"}, .log2_columns = 5, .block_bytes = 20},
    [INLAY_Q5_0] = {{"q5_0", "Q5_0"}, .log2_columns = 5, .block_bytes = 22},
    [INLAY_Q5_1] = {{"q5_1", "Q5_1"}, .log2_columns = 5, .block_bytes = 24},
    [INLAY_IQ4_NL] = {{"iq4_nl", "IQ4_NL"}, .log2_columns = 5, .block_bytes = 18},
    [INLAY_MXFP4] = {{"mxfp4", "MXFP4"}, .log2_columns = 5, .block_bytes = 17},
    [INLAY_NVFP4] = {{"nvfp4", "NVFP4"}, .log2_columns = 6, .block_bytes = 36},
    [INLAY_Q3_K] = {{"q3_k", "Q3_K"}, .log2_columns = 8, .block_bytes = 110},
    [INLAY_Q4_K] = {{"q4_k", "Q4_K"}, .log2_columns = 8, .block_bytes = 144},
    [INLAY_Q5_K] = {{"q5_k", "Q5_K"}, .log2_columns = 8, .block_bytes = 176},
    [INLAY_Q6_K] = {{"q6_k", "Q6_K"}, .log2_columns = 8, .block_bytes = 210},
    [INLAY_Q2_K] = {{"q2_k", "Q2_K"}, .log2_columns = 8, .block_bytes = 84},
    [INLAY_IQ4_XS] = {{"iq4_xs", "IQ4_XS"}, .log2_columns = 8, .block_bytes = 136},
    [INLAY_IQ3_S] = {{"iq3_s", "IQ3_S"}, .log2_columns = 8, .block_bytes = 110},
    [INLAY_I8_GROUPED] = {{"i8_grouped"},
                          .zeros_in_byte = 1,
                          .block_bytes = 1,
                          .scales = INLAY_SCALES_PER_GROUP,
                          .scale_bytes = sizeof(float)},
    [INLAY_U8_GROUPED] = {{"u8_grouped"},
                          .zeros_in_byte = 1,
                          .block_bytes = 1,
                          .scales = INLAY_SCALES_PER_GROUP,
                          .scale_bytes = sizeof(float)},
    [INLAY_E2M1_F32] = {{"e2m1_f32"},
                        .log2_columns = 4,
                        .block_bytes = 8,
                        .scales = INLAY_SCALES_PER_BLOCK,
                        .scale_bytes = sizeof(float)},
    [INLAY_U2_AFFINE] = AFFINE(2),
    [INLAY_U3_AFFINE] = AFFINE(3),
    [INLAY_U4_AFFINE] = AFFINE(4),
    [INLAY_U5_AFFINE] = AFFINE(5),
    [INLAY_U6_AFFINE] = AFFINE(6),
    [INLAY_U8_AFFINE] = AFFINE(8),
    [INLAY_U8_ROWWISE_FIRST] = ROWWISE("u8_rowwise_first", 0, 1, true),
    [INLAY_U4_ROWWISE_FIRST] = ROWWISE("u4_rowwise_first", 1, 1, true),
    [INLAY_U2_ROWWISE_FIRST] = ROWWISE("u2_rowwise_first", 5, 8, true),
    [INLAY_U2_ROWWISE] = ROWWISE("u2_rowwise", 5, 8, false),
};

const float inlay_unit_scale = 1;

const char *inlay_element_type_name(inlay_element_type type, size_t index)
{
    const size_t most = sizeof inlay_row_formats->names / sizeof *inlay_row_formats->names;
    return (unsigned)type < INLAY_ELEMENT_TYPES && index < most ? inlay_row_formats[type].names[index] : NULL;
}

inlay_element_type inlay_element_type_from_name(const char *text)
{
    for (inlay_element_type type = INLAY_F32; type < INLAY_ELEMENT_TYPES; type++)
        for (const char *const *name = inlay_row_formats[type].names; *name != NULL; name++)
            if (inlay_name_equal(*name, text))
                return type;
    return (inlay_element_type)0;
}

size_t inlay_type_bytes(inlay_element_type type)
{
    return type >= INLAY_F32 && type <= INLAY_BF16 ? inlay_row_formats[type].block_bytes : 0;
}

size_t inlay_table_row_bytes(inlay_element_type type, size_t dim)
{
    if (type < INLAY_F32 || type >= INLAY_ELEMENT_TYPES || dim == 0)
        return 0;
    const struct inlay_row_format *format = &inlay_row_formats[type];
    const size_t blocks = dim >> format->log2_columns;
    const bool rest = blocks << format->log2_columns != dim;
    const size_t beside = format->scales == INLAY_SCALES_IN_ROW ? format->scale_bytes : 0;
    size_t bytes;
    if ((rest && format->log2_columns > 1) || __builtin_mul_overflow(blocks + rest, format->block_bytes, &bytes) ||
        __builtin_add_overflow(bytes, beside, &bytes))
        return 0;
    return bytes;
}

/* Returns the number of groups of a row. The last one may be shorter. */
static size_t groups_of(size_t dim, uint32_t group)
{
    return dim / group + (dim % group > 0);
}

size_t inlay_table_scale_bytes(inlay_element_type type, size_t dim, uint32_t group)
{
    if (type < INLAY_F32 || type >= INLAY_ELEMENT_TYPES)
        return 0;
    const struct inlay_row_format *format = &inlay_row_formats[type];
    size_t bytes;
    switch (format->scales) {
    case INLAY_SCALES_PER_ROW:
        return format->scale_bytes;
    case INLAY_SCALES_PER_GROUP:
        return group == 0 || __builtin_mul_overflow(groups_of(dim, group), format->scale_bytes, &bytes) ? 0 : bytes;
    case INLAY_SCALES_PER_BLOCK:
        return (dim >> format->log2_columns) * format->scale_bytes;
    default:
        return 0;
    }
}

size_t inlay_table_zero_bytes(inlay_element_type type, size_t rows, size_t dim, uint32_t group)
{
    if (type < INLAY_F32 || type >= INLAY_ELEMENT_TYPES || group == 0)
        return 0;
    const unsigned in_byte = inlay_row_formats[type].zeros_in_byte;
    const size_t groups = groups_of(dim, group);
    size_t bytes;
    if (in_byte == 0 || __builtin_mul_overflow(groups / in_byte, rows, &bytes))
        return 0;
    /* An odd zero point takes a byte of its row, or half a byte if they are packed flat. */
    const size_t odd = groups % in_byte == 0 ? 0 : type == INLAY_U4_GROUPED_FLAT ? rows / 2 + rows % 2 : rows;
    return __builtin_add_overflow(bytes, odd, &bytes) ? 0 : bytes;
}

inlay_status inlay_check_matrix(const void *data, size_t rows, size_t dim, inlay_element_type type, size_t stride_bytes,
                                struct inlay_extent *extent)
{
    *extent = (struct inlay_extent){0, 0};
    const size_t element = inlay_type_bytes(type);
    size_t row_bytes;
    if (element == 0)
        return INLAY_ERROR_OPTION;
    if (dim == 0)
        return INLAY_ERROR_SHAPE;
    if (__builtin_mul_overflow(dim, element, &row_bytes))
        return INLAY_ERROR_OVERFLOW;
    return inlay_check_rows(data, rows, row_bytes, stride_bytes, extent);
}
