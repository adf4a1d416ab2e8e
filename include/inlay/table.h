/* SPDX-License-Identifier: MIT */
/**
 * @file table.h
 * Embedding tables: views of your memory in any element type, conversion of float32 tables to other types, and random
 * tables. The conventions of inlay.h apply.
 */
#ifndef INLAY_TABLE_H
#define INLAY_TABLE_H

#include <inlay/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types ---------------------------------------------------------------------------------------------- */

/**
 * The element type of a table or an output. 0 is not a type, so a forgotten field is an error.
 *
 * A table can have any of these types. Kernels dequantize its rows in registers, without a copy. Outputs are INLAY_F32,
 * INLAY_F16 or INLAY_BF16.
 *
 * Below, q is the number stored for a column, and the formula gives its value. Each product, quotient and sum in it is
 * rounded to float32. "Packed" means two 4-bit numbers per byte, the lower half first. ggml's types have the layout of
 * ggml's block with the same name.
 */
typedef enum inlay_element_type {
    INLAY_F32 = 1,        /**< IEEE 754 binary32 */
    INLAY_F16 = 2,        /**< IEEE 754 binary16 */
    INLAY_BF16 = 3,       /**< bfloat16, the upper half of a binary32 */
    INLAY_I8 = 4,         /**< int8 q [dim] and an optional scale per row: q * scale. Without scales, scale is 1 */
    INLAY_I8_INVERSE = 5, /**< int8 q [dim] and a scale per row: q * (1 / scale). CTranslate2's int8 embeddings */
    INLAY_U8_ROWWISE = 6, /**< uint8 q [dim], then float32 scale and bias within the row: q * scale + bias. The 8-bit
                               rowwise format of FBGEMM and PyTorch */
    INLAY_U4_ROWWISE = 7, /**< packed 4-bit q [dim], then float16 scale and bias within the row: q * scale + bias.
                               FBGEMM's n-bit rowwise format */
    INLAY_U4_GROUPED = 8, /**< packed 4-bit q [dim], with a scale and an optional zero point per `group` columns: (q -
                               zero) * scale. Without zero points, zero is 8. ONNX Runtime's GatherBlockQuantized with
                               uint8 data */
    INLAY_Q8_0 = 9,       /**< ggml, blocks of 32 columns: float16 d, int8 q [32]. q * d */
    INLAY_Q4_0 = 10,      /**< ggml, blocks of 32 columns: float16 d, then 16 bytes with the first 16 columns in their
                               lower halves and the other 16 in their upper halves. (q - 8) * d */
    INLAY_U4_GROUPED_FLAT = 11, /**< as INLAY_U4_GROUPED, but zero points are packed without padding between rows,
                                     and zero is 0 if there are none. GatherBlockQuantized with uint4 data */
    INLAY_E4M3 = 12,      /**< 8-bit floats q [dim] and an optional scale per row: q * scale. Without scales, scale is
                               1. E4M3 as in OCP (Open Compute Project) and PyTorch's float8_e4m3fn: magnitudes up to
                               448, subnormals down to 2^-9, -0, NaN, no infinities */
    INLAY_E4M3_E8M0 = 13, /**< E4M3 q [dim] and a byte e per 32 columns: q * 2^(e - 127); e = 255 is NaN. OCP's MXFP8,
                               and DeepSeek's Engram tables */
    INLAY_Q4_1 = 14,      /**< ggml, blocks of 32 columns: float16 d and m, then 16 bytes as in INLAY_Q4_0. q * d + m */
    INLAY_Q5_0 = 15,      /**< ggml, blocks of 32 columns: float16 d, 32 bits with the fifth bit of each q, then 16
                               bytes as in INLAY_Q4_0. (q - 16) * d */
    INLAY_Q5_1 = 16,      /**< ggml, blocks of 32 columns: float16 d and m, then as in INLAY_Q5_0. q * d + m */
    INLAY_IQ4_NL = 17, /**< ggml, the blocks of INLAY_Q4_0: L[q] * d, with L = -127 -104 -83 -65 -49 -35 -22 -10 1 13 25
                            38 53 69 89 113 */
    INLAY_MXFP4 = 18,  /**< ggml, blocks of 32 columns: a byte e, then 16 bytes as in INLAY_Q4_0. E[q] * 2^(e - 128),
                            with E = 0 1 2 3 4 6 8 12 and their negatives from q = 8 on. No NaN, no -0. The order of
                            bytes differs from OCP's MXFP4 */
    INLAY_NVFP4 = 19,  /**< ggml, blocks of 64 columns: 4 scales x of 16 columns each, then 32 bytes. Byte 8 s + i holds
                            column 16 s + i in its lower half and 16 s + 8 + i in its upper half. E[q] (see MXFP4) times
                            half of the E4M3 number x, ignoring its sign; x = 127 is 0, and 255 is 480 */
    INLAY_Q3_K = 20,   /**< ggml, blocks of 256 columns, 110 bytes: (d * s) * q, with a 6-bit s per 16 columns and q
                            from -4 to 3 */
    INLAY_Q4_K = 21,   /**< ggml, blocks of 256 columns, 144 bytes: (d * s) * q - dmin * m, with 6-bit s and m per 32
                            columns and q from 0 to 15 */
    INLAY_Q5_K = 22,   /**< ggml, blocks of 256 columns, 176 bytes: as INLAY_Q4_K, with q from 0 to 31 */
    INLAY_Q6_K = 23,   /**< ggml, blocks of 256 columns, 210 bytes: (d * s) * q, with an int8 s per 16 columns and q
                            from -32 to 31 */
    INLAY_Q2_K = 24,   /**< ggml, blocks of 256 columns, 84 bytes: as INLAY_Q4_K, with 4-bit s and m per 16 columns and
                            q from 0 to 3 */
    INLAY_IQ4_XS = 25, /**< ggml, blocks of 256 columns, 136 bytes: (d * s) * L[q], with a 6-bit s per 32 columns and
                            the L of INLAY_IQ4_NL */
    INLAY_IQ3_S = 26,  /**< ggml, blocks of 256 columns, 110 bytes: (d * s) * q, with an odd s from 1 to 31 per 32
                            columns and odd q from -15 to 15. The magnitudes of four columns are one of the 512
                            quadruples of ggml's iq3s_grid */
    INLAY_I8_GROUPED = 27, /**< int8 q [dim] with a scale and an optional int8 zero point per `group` columns: (q -
                                zero) * scale. Without zero points, zero is 0. compressed-tensors' int-quantized */
    INLAY_U8_GROUPED = 28, /**< same with uint8; without zero points, zero is 128. compressed-tensors' 8-bit
                                pack-quantized */
    INLAY_E2M1_F32 = 29,   /**< packed 4-bit floats q [dim] with a float32 scale per 16 columns: q * scale. q is 0 0.5 1
                                1.5 2 3 4 6 and their negatives from 8 on; there is no -0. ModelOpt's NVFP4, with
                                its two factors multiplied in advance */
    INLAY_U2_AFFINE = 30,  /**< MLX's affine mode, 2 bits: q * scale + bias, with a scale and a bias per `group`
                                columns. q of column c is bits [2 c, 2 c + 2) of the row, lowest bits first */
    INLAY_U3_AFFINE = 31,  /**< same with 3 bits per q. Numbers can cross bytes */
    INLAY_U4_AFFINE = 32,  /**< same with 4 bits per q */
    INLAY_U5_AFFINE = 33,  /**< same with 5 bits per q */
    INLAY_U6_AFFINE = 34,  /**< same with 6 bits per q */
    INLAY_U8_AFFINE = 35,  /**< same with 8 bits per q */
    INLAY_U8_ROWWISE_FIRST = 36, /**< float16 scale and bias, then uint8 q [dim], within the row: q * scale + bias. Rows
                                      of FBGEMM's table-batched embeddings and of TorchRec */
    INLAY_U4_ROWWISE_FIRST = 37, /**< same with packed 4-bit q */
    INLAY_U2_ROWWISE_FIRST = 38, /**< same with packed 2-bit q, lowest bits first; dim is a multiple of 32 */
    INLAY_U2_ROWWISE = 39,       /**< as INLAY_U4_ROWWISE with 2-bit q, lowest bits first; dim is a multiple of 32 */
} inlay_element_type;

/** One more than the largest element type. */
#define INLAY_ELEMENT_TYPES 40

/** Returns a name of an element type. Index 0 is the name in the command and the Python package ("q4_k", "float16").
    Index 1 is the spelling in model files or specifications ("Q4_K", "F16"). Further indices are synonyms ("fp16",
    "half"). Returns null past the last name (some types have only one) and for invalid types. */
INLAY_API const char *inlay_element_type_name(inlay_element_type type, size_t index);

/** Returns the element type with the name `text`, compared with inlay_name_equal(); 0 if there is none or text is
    null. */
INLAY_API inlay_element_type inlay_element_type_from_name(const char *text);

/** The type of token, position and segment ids. 0 is not a type. */
typedef enum inlay_id_type {
    INLAY_ID_I32 = 1, /**< int32_t */
    INLAY_ID_I64 = 2, /**< int64_t */
    INLAY_ID_U8 = 3,  /**< uint8_t */
    INLAY_ID_U16 = 4, /**< uint16_t */
    INLAY_ID_I16 = 5, /**< int16_t */
    INLAY_ID_U32 = 6, /**< uint32_t */
} inlay_id_type;

/* ---- Views ------------------------------------------------------------------------------------------------------ */

/** One of several arrays that hold the rows of a table, e.g. one tensor of a sharded checkpoint. Its rows start at
    first_row and end before the next extent, or at the end of the table. */
typedef struct inlay_table_extent {
    const void *data;   /**< its rows, as inlay_table.data */
    const void *scales; /**< their scales, as inlay_table.scales; null for types without such an array */
    const void *zeros;  /**< their zero points, as inlay_table.zeros, starting at a byte boundary. Null in all
                             extents of a table or in none */
    size_t first_row;   /**< index of its first row in the table; 0 for the first extent */
} inlay_table_extent;

/**
 * A view of a table [rows, dim] in your memory. The memory must stay valid while the view is used. Make a view with the
 * constructor for its type below, and change stride_bytes afterwards if rows are not contiguous.
 */
typedef struct inlay_table {
    size_t size;             /**< sizeof(inlay_table) */
    const void *data;        /**< [rows, dim] of `type`; may be null if rows is 0 */
    size_t rows;             /**< number of rows, >= 0 */
    size_t dim;              /**< columns per row, >= 1; a multiple of the number of columns in a block */
    size_t stride_bytes;     /**< distance between rows, >= inlay_table_row_bytes(type, dim) */
    inlay_element_type type; /**< of the elements */
    uint32_t group;     /**< columns per scale: 16 (not for AFFINE types), 32, 64 or 128; 0 for types without groups.
                             Below, groups = ceil(dim / group); the last group may be short */
    const void *scales; /**< float32: [rows] for INLAY_I8_INVERSE, null or [rows] for INLAY_I8 and INLAY_E4M3,
                             [rows, groups] for the GROUPED types, [rows, groups, 2] with scale and bias
                             for the AFFINE types, [rows, dim / 16] for INLAY_E2M1_F32; uint8 [rows, dim / 32] for
                             INLAY_E4M3_E8M0; else null. Infinities and NaN propagate by IEEE 754 */
    const void *zeros;  /**< null, or zero points [rows, groups] of a GROUPED type, with as many bits as its
                             elements. 4-bit zero points are packed: in rows of ceil(groups / 2) bytes for
                             INLAY_U4_GROUPED, and in one run of ceil(rows * groups / 2) bytes for
                             INLAY_U4_GROUPED_FLAT */
    size_t first_row;   /**< for a shard: the table holds rows [first_row, first_row + rows) of the vocabulary */
    size_t vocab;       /**< for a shard: size of the full vocabulary; 0: the table is the full vocabulary */
    const inlay_table_extent *extents; /**< null, or [extent_count]: the arrays that hold the rows, in row order.
                                            With extents, data, scales and zeros above are null. Copies of the view
                                            share this array, which must outlive them */
    size_t extent_count;               /**< number of extents, >= 1 with extents; else 0 */
    size_t extent_rows; /**< number of rows in every extent except the last, which has at most as many; 0: extents of
                             any length, or none */
} inlay_table;

/** Returns the size of one row of `dim` columns in bytes, including scales within the row. This is the smallest
    valid stride. Returns 0 if the type has no rows of `dim` columns, or if the size overflows size_t. */
INLAY_API size_t inlay_table_row_bytes(inlay_element_type type, size_t dim);

/** Returns the bytes of one row in inlay_table.scales. Returns 0 if the type has no such array, if it has groups and
    `group` is 0, or if the size overflows size_t. Types without groups ignore `group`. */
INLAY_API size_t inlay_table_scale_bytes(inlay_element_type type, size_t dim, uint32_t group);

/** Returns the smallest group of a type: 16, or 32 if its rows are whole blocks of 32 columns. Returns 0 for types
   without groups. Groups of 32, 64 and 128 columns are valid for all types with groups. */
static inline uint32_t inlay_table_min_group(inlay_element_type type)
{
    if (inlay_table_scale_bytes(type, 32, 0) != 0 || inlay_table_scale_bytes(type, 32, 32) == 0)
        return 0;
    return inlay_table_row_bytes(type, 16) > 0 ? 16 : 32;
}

/** Returns the bytes of `rows` rows in inlay_table.zeros. Returns 0 if the type has no zero points, if `group` is 0, or
    if the size overflows size_t. */
INLAY_API size_t inlay_table_zero_bytes(inlay_element_type type, size_t rows, size_t dim, uint32_t group);

/** Returns a view of a table [rows, dim] with rows `stride_bytes` apart. For contiguous rows, pass
   inlay_table_row_bytes(). Use this function for a type chosen at run time, for rows that are not contiguous, and
   for types without their own constructor. Scales, zero points and group are null or 0; set them for types that have
   them. Nothing is validated until the view is used. */
static inline inlay_table inlay_table_view(inlay_element_type type, const void *data, size_t rows, size_t dim,
                                           size_t stride_bytes)
{
    inlay_table table;
    table.size = sizeof table;
    table.data = data;
    table.rows = rows;
    table.dim = dim;
    table.stride_bytes = stride_bytes;
    table.type = type;
    table.group = 0;
    table.scales = NULL;
    table.zeros = NULL;
    table.first_row = 0;
    table.vocab = 0;
    table.extents = NULL;
    table.extent_count = 0;
    table.extent_rows = 0;
    return table;
}

/** Returns a view of a contiguous float32 table [rows, dim]. */
static inline inlay_table inlay_table_f32(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_F32, data, rows, dim, dim * sizeof(float));
}

/** Returns a view of a contiguous float16 table [rows, dim]. */
static inline inlay_table inlay_table_f16(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_F16, data, rows, dim, dim * 2);
}

/** Returns a view of a contiguous bfloat16 table [rows, dim]. */
static inline inlay_table inlay_table_bf16(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_BF16, data, rows, dim, dim * 2);
}

/** Returns a view of a contiguous int8 table [rows, dim]. Each row is multiplied by its float32 scale in `scales`
    [rows], or by 1 if `scales` is null. */
static inline inlay_table inlay_table_i8(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_view(INLAY_I8, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a view of a contiguous int8 table [rows, dim]. Each row is multiplied by the reciprocal of its float32 scale
    in `scales` [rows]. */
static inline inlay_table inlay_table_i8_inverse(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_view(INLAY_I8_INVERSE, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a view of a contiguous table [rows, dim] in FBGEMM's 8-bit rowwise format: dim + 8 bytes per row. */
static inline inlay_table inlay_table_u8_rowwise(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_U8_ROWWISE, data, rows, dim, dim + 8);
}

/** Returns a view of a contiguous table [rows, dim] in FBGEMM's 4-bit rowwise format:
    ceil(dim / 2) + 4 bytes per row. */
static inline inlay_table inlay_table_u4_rowwise(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_U4_ROWWISE, data, rows, dim, dim / 2 + dim % 2 + 4);
}

/**
 * Returns a view of the data of ONNX Runtime's GatherBlockQuantized in its uint8 form: contiguous 4-bit rows of
 * ceil(dim / 2) bytes.
 *
 * @param data    packed 4-bit [rows, dim]: two per byte, the lower half first
 * @param scales  float32 [rows, groups], with groups = ceil(dim / group)
 * @param zeros   4-bit zero points [rows, groups] in rows of ceil(groups / 2) bytes; null: all are 8
 * @param rows    number of rows, >= 0
 * @param dim     columns of a row
 * @param group   columns per scale: 16, 32, 64 or 128
 */
static inline inlay_table inlay_table_u4_grouped(const void *data, const void *scales, const void *zeros, size_t rows,
                                                 size_t dim, uint32_t group)
{
    inlay_table table = inlay_table_view(INLAY_U4_GROUPED, data, rows, dim, dim / 2 + dim % 2);
    table.group = group;
    table.scales = scales;
    table.zeros = zeros;
    return table;
}

/** Returns a view of the data of ONNX Runtime's GatherBlockQuantized in its uint4 form. It differs from
    inlay_table_u4_grouped() only in the zero points. They are packed without padding between rows, in ceil(rows *
    groups / 2) bytes. Null means that every zero point is 0. */
static inline inlay_table inlay_table_u4_grouped_flat(const void *data, const void *scales, const void *zeros,
                                                      size_t rows, size_t dim, uint32_t group)
{
    inlay_table table = inlay_table_u4_grouped(data, scales, zeros, rows, dim, group);
    table.type = INLAY_U4_GROUPED_FLAT;
    return table;
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q8_0 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 34 bytes. */
static inline inlay_table inlay_table_q8_0(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q8_0, data, rows, dim, dim / 32 * 34);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q4_0 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 18 bytes. */
static inline inlay_table inlay_table_q4_0(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q4_0, data, rows, dim, dim / 32 * 18);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q4_1 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 20 bytes. */
static inline inlay_table inlay_table_q4_1(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q4_1, data, rows, dim, dim / 32 * 20);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q5_0 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 22 bytes. */
static inline inlay_table inlay_table_q5_0(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q5_0, data, rows, dim, dim / 32 * 22);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q5_1 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 24 bytes. */
static inline inlay_table inlay_table_q5_1(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q5_1, data, rows, dim, dim / 32 * 24);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's IQ4_NL blocks; dim is a multiple of 32, and a row has
    dim / 32 * 18 bytes. */
static inline inlay_table inlay_table_iq4_nl(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_IQ4_NL, data, rows, dim, dim / 32 * 18);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's MXFP4 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 17 bytes. */
static inline inlay_table inlay_table_mxfp4(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_MXFP4, data, rows, dim, dim / 32 * 17);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's NVFP4 blocks; dim is a multiple of 64, and a row has
    dim / 64 * 36 bytes. */
static inline inlay_table inlay_table_nvfp4(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_NVFP4, data, rows, dim, dim / 64 * 36);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q3_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 110 bytes. */
static inline inlay_table inlay_table_q3_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q3_K, data, rows, dim, dim / 256 * 110);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q4_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 144 bytes. */
static inline inlay_table inlay_table_q4_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q4_K, data, rows, dim, dim / 256 * 144);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q5_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 176 bytes. */
static inline inlay_table inlay_table_q5_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q5_K, data, rows, dim, dim / 256 * 176);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q6_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 210 bytes. */
static inline inlay_table inlay_table_q6_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_view(INLAY_Q6_K, data, rows, dim, dim / 256 * 210);
}

/** Returns a view of a contiguous table [rows, dim] of 8-bit floats (E4M3). Each row is multiplied by its float32
    scale in `scales` [rows], or by 1 if `scales` is null. If one scale applies to the whole table, pass it as the
    scale of the layer or the call. */
static inline inlay_table inlay_table_e4m3(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_view(INLAY_E4M3, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a view of a contiguous table [rows, dim] of 8-bit floats (E4M3); dim is a multiple of 32. `scales` has
    one power of two (E8M0) per 32 columns, as uint8 [rows, dim / 32]. */
static inline inlay_table inlay_table_e4m3_e8m0(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_view(INLAY_E4M3_E8M0, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a copy of a view as a shard, which holds rows [first_row, first_row + table.rows) of a vocabulary of
    `vocab` rows. inlay_layer_spec documents how layers treat ids of other shards. */
static inline inlay_table inlay_table_shard(inlay_table table, size_t first_row, size_t vocab)
{
    table.first_row = first_row;
    table.vocab = vocab;
    return table;
}

/**
 * Returns a copy of a view, with its rows in several arrays instead of one. Type, rows, dim, stride and group stay the
 * same; data, scales and zero points become null. Calls that read the view return INLAY_ERROR_SHAPE unless the extents
 * cover its rows without gaps and each has at least one row. Results are bit-identical to those of a single array.
 *
 * @param table        a view of `rows` >= 1 rows, e.g. from inlay_table_view()
 * @param extents      [count], in row order. Not copied: while the view is used, this array must stay valid and must
 *                     not change. It must not overlap an output
 * @param count        number of extents, >= 1
 * @param extent_rows  number of rows in every extent except the last, which has at most as many; a division then finds
 *                     the extent of a row. 0: extents of any lengths; a binary search finds it
 */
static inline inlay_table inlay_table_from_extents(inlay_table table, const inlay_table_extent *extents, size_t count,
                                                   size_t extent_rows)
{
    table.data = NULL;
    table.scales = NULL;
    table.zeros = NULL;
    table.extents = extents;
    table.extent_count = count;
    table.extent_rows = extent_rows;
    return table;
}

/* ---- Quantization ----------------------------------------------------------------------------------------------- */

/** The arrays that inlay_table_quantize() writes: an inlay_table with mutable pointers. They have as many rows and
    columns as the table being converted. */
typedef struct inlay_table_storage {
    size_t size;             /**< sizeof(inlay_table_storage) */
    void *data;              /**< [rows, dim] of `type` */
    size_t stride_bytes;     /**< distance between rows; bytes between rows are left unchanged */
    inlay_element_type type; /**< the type to convert to */
    uint32_t group;          /**< as in inlay_table */
    void *scales;            /**< as in inlay_table; null for types without an array of scales */
    void *zeros;             /**< as in inlay_table; null: no zero points are stored */
} inlay_table_storage;

/** Returns the storage for contiguous rows of `dim` columns. Set group, scales and zeros afterwards for types that
    have them. */
static inline inlay_table_storage inlay_table_storage_of(inlay_element_type type, void *data, size_t dim)
{
    inlay_table_storage storage;
    storage.size = sizeof storage;
    storage.data = data;
    storage.stride_bytes = inlay_table_row_bytes(type, dim);
    storage.type = type;
    storage.group = 0;
    storage.scales = NULL;
    storage.zeros = NULL;
    return storage;
}

/**
 * Converts a float32 table [rows, dim] to another type. The error of a value is its distance from the dequantized
 * value. The bounds below are exact for 16-bit types, INLAY_E4M3_E8M0 and ggml's types except INLAY_Q4_1 and
 * INLAY_Q5_1. For those two and all other types, rounding the dequantized value to float32 adds at most 2^-22 times the
 * largest magnitude that shares the step.
 *
 * In the table, min, max and max |x| are taken over the values that share a scale: a row, a group of columns or a
 * block. "With 0" means that 0 counts as one of these values.
 *
 *     type                        step                               error
 *     I8, I8_INVERSE              max |x| / 127                      1/2 step
 *     I8 without scales           1                                  1/2 step
 *     U8_ROWWISE                  (max - min) / 255                  1/2 step
 *     other ROWWISE types         (max - min) / (2^bits - 1)         1/2 step + 2^-11 of |min| and of max - min
 *     U2_AFFINE to U8_AFFINE      (max - min) / (2^bits - 1)         1/2 step
 *     grouped types, zero points: 4 bits: (max - min) / 15, with 0   1/2 step
 *                                 8 bits: (max - min) / 255, with 0  1/2 step
 *     without zero points:
 *         U4_GROUPED              max |x| / 7                        1/2 step
 *         I8_GROUPED, U8_GROUPED  max |x| / 127                      1/2 step
 *         U4_GROUPED_FLAT         max / 15                           1/2 step
 *     Q8_0                        max |x| / 127                      0.57 steps
 *     Q4_0                        max |x| / 8                        1.01 steps
 *     Q5_0                        max |x| / 16                       1.01 steps
 *     Q4_1, Q5_1                  (max - min) / 15, / 31             0.51 steps + 2^-11 of |min| and of max - min
 *     IQ4_NL                      max |x| / 127                      14.1 steps: the values are -127 to 113
 *     IQ4_XS                      max |x| / 127 of 256 columns       14.1 steps
 *     Q3_K                        max |x| / 3 of 256 columns         0.65 steps
 *     Q6_K                        max |x| / 31 of 256 columns        0.52 steps
 *     Q4_K, Q5_K                  (max - min) / 15, / 31, with 0     0.52 steps (*)
 *     Q2_K                        (max - min) / 3, with 0            0.54 steps (*)
 *     IQ3_S                       max |x| / 15 of 256 columns        7.8 steps (**)
 *
 *     (*) max and min are taken over 256 columns
 *     (**) smaller if the 32 columns that share an inner scale have smaller values than all 256
 *
 * Floating-point types:
 *
 * - INLAY_F16, INLAY_BF16: values are rounded to nearest even; the error is at most half a unit in the last place.
 *   Infinities and NaN are kept; values that are too large become infinite.
 * - INLAY_MXFP4: the largest power of two in the block becomes 4. Error: max |x| / 4, or 2^-129 if that is larger.
 * - INLAY_NVFP4: the scale is max |x| / 6 of 16 columns, rounded to E4M3. Error: 0.18 max |x| + 6 * 2^-10. Magnitudes
 *   above 2688 are rejected with INLAY_ERROR_OPTION.
 * - INLAY_E2M1_F32: the scale is max |x| / 6 of 16 columns. Error: max |x| / 6.
 * - INLAY_E4M3: the row's scale is max |x| / 448, and x / scale is rounded to nearest even. Error: |x| / 16, or scale /
 *   1024 if that is larger. Without scales, scale is 1, and magnitudes above 448 are rejected with INLAY_ERROR_OPTION.
 * - INLAY_E4M3_E8M0: the scale is the smallest power of two for which the quotients of 32 columns don't exceed 448.
 *   Error: the largest of |x| / 16, max |x| / 229376 (over the 32 columns) and 2^-137.
 *
 * Details of the integer types:
 *
 * - INLAY_I8 without scales rejects magnitudes above 127 with INLAY_ERROR_OPTION. INLAY_U4_GROUPED_FLAT without zero
 *   points cannot hold negative values and rejects them with INLAY_ERROR_OPTION.
 * - INLAY_I8_INVERSE stores the reciprocal of the step. The bias of the rowwise and AFFINE types and m of INLAY_Q4_1
 *   and INLAY_Q5_1 is min.
 * - The step is rounded to float16 in INLAY_Q8_0, Q4_0, Q5_0, Q4_1, Q5_1, IQ4_NL and the ROWWISE types except
 *   INLAY_U8_ROWWISE. These types also store m or the bias as float16.
 * - The value with the largest magnitude becomes -8 in INLAY_Q4_0 and -16 in INLAY_Q5_0, so the step can be negative.
 * - INLAY_IQ3_S encodes four columns as the nearest one of ggml's 512 quadruples.
 *
 * INLAY_Q8_0, INLAY_Q4_0, INLAY_Q4_1, INLAY_Q5_0 and INLAY_Q5_1 match ggml's reference (quantize_row_q8_0_ref and so
 * on) byte for byte, except for blocks whose float16 step underflows to 0. These dequantize as in ggml, but their
 * stored numbers can differ. For INLAY_IQ4_NL, INLAY_IQ4_XS and INLAY_Q2_K to INLAY_Q6_K, this function searches
 * for the scales. The root mean square of the errors is 0.88 to 0.98 times that of ggml without an importance matrix,
 * on normal numbers and on tables of models.
 *
 * A float32 step is at least 2^-126. A float16 step below 2^-14 loses digits. This increases the error by at most 64 *
 * 2^-24 for INLAY_Q8_0, INLAY_IQ4_NL and INLAY_IQ4_XS, 128 * 2^-24 for INLAY_U8_ROWWISE_FIRST, 16 * 2^-24 for
 * INLAY_Q5_1, and 8 * 2^-24 for the other types with a float16 step. A row, group or block of zeros stays zero. If all
 * values of a row or group are equal, the rowwise and AFFINE types dequantize it to its bias.
 *
 * @param from           a float32 table [rows, dim], not a shard; extents are allowed
 * @param to             the arrays to write
 * @param view           null, or set to a view of the new table, which points to the arrays of `to`
 * @param largest_error  null, or set to the largest error over all values; NaN and infinities that are kept have error
 *                       0
 * @return INLAY_OK; INLAY_ERROR_NULL if `from` or `to` is null; INLAY_ERROR_OPTION if `from` is not float32 or is a
 *         shard, or if a value is NaN, infinite or too large for the type: above 65504 for types with a float16 scale,
 *         above 2^126 for other types with a scale, unless stated otherwise above; INLAY_ERROR_OVERLAP if an output (an
 *         array of `to`, *view, *largest_error) overlaps another output, the data of `from`, or the structs `from` and
 *         `to`; or the error for the first array that is missing or too small. Outputs are written only with INLAY_OK.
 */
INLAY_API inlay_status inlay_table_quantize(const inlay_table *from, const inlay_table_storage *to, inlay_table *view,
                                            double *largest_error);

/* ---- Random tables ---------------------------------------------------------------------------------------------- */

/** The distribution of the elements of a random table. 0 is invalid. */
typedef enum inlay_random_kind {
    INLAY_RANDOM_NORMAL = 1,           /**< mean + deviation * z, z standard normal */
    INLAY_RANDOM_TRUNCATED_NORMAL = 2, /**< mean + deviation * z, z standard normal and within [low, high] */
    INLAY_RANDOM_UNIFORM = 3,          /**< low + (high - low) * u, u in (0, 1) */
} inlay_random_kind;

/**
 * A random table. Start from inlay_random_spec_default(). An element depends only on its index, the key and the offset.
 * A table made in several calls, in any order and on any machine, is therefore bit-identical:
 *
 *     e       = (first_row + row) * dim + column
 *     w       = word e mod 4 of Philox4x32-10 (Salmon et al. 2011) of `key` and the counter {e / 4, offset}, two 64-bit
 *               numbers, each with its lower half first
 *     element = the quantile of the distribution at (w + 1/2) / 2^32; a standard normal one reaches +-6.34
 */
typedef struct inlay_random_spec {
    size_t size;            /**< sizeof(inlay_random_spec) */
    size_t first_row;       /**< index of the first row written, in the whole table */
    inlay_random_kind kind; /**< the distribution */
    uint32_t reserved;      /**< 0 */
    double mean;            /**< of the normal distributions, before truncation. Used or not, this and the next three
                                 numbers must be finite, with magnitudes up to the largest float32, except as noted */
    double deviation;       /**< standard deviation of the normal distributions, before truncation, >= 0 */
    double low;             /**< <= high. Truncated: in standard deviations from the mean (Keras: -2), <= 8, may be
                                 -infinity. Uniform: lower end */
    double high;            /**< Truncated: in standard deviations from the mean (Keras: 2), >= -8, may be infinity.
                                 Uniform: upper end */
    uint64_t key;           /**< the seed */
    uint64_t offset;        /**< selects one of 2^64 independent tables with the same key */
    int64_t zero_row;       /**< a row of the table to fill with zeros, e.g. the row of a padding token; -1: none */
} inlay_random_spec;

/** Returns a spec with mean 0, deviation 1, offset 0 and no row of zeros. The truncation is at +-2 deviations;
    uniform numbers are between 0 and 1. */
static inline inlay_random_spec inlay_random_spec_default(inlay_random_kind kind, uint64_t key)
{
    inlay_random_spec spec;
    spec.size = sizeof spec;
    spec.first_row = 0;
    spec.kind = kind;
    spec.reserved = 0;
    spec.mean = 0;
    spec.deviation = 1;
    spec.low = kind == INLAY_RANDOM_TRUNCATED_NORMAL ? -2 : 0;
    spec.high = kind == INLAY_RANDOM_TRUNCATED_NORMAL ? 2 : 1;
    spec.key = key;
    spec.offset = 0;
    spec.zero_row = -1;
    return spec;
}

/**
 * Writes random rows, bit-identical on every machine. z is computed in double, with an error of at most 2^-46 |z|, or
 * 2^-46 if z is truncated and |z| < 1. mean + deviation * z is computed in double and rounded once to float32. An
 * element takes about 20 ns.
 *
 * @param spec          the distribution and the seed
 * @param out           float32 [rows, dim], at any address; must not overlap the struct `spec`
 * @param rows          number of rows, >= 0
 * @param dim           columns of a row, >= 1
 * @param stride_bytes  distance between rows of `out`, >= dim * sizeof(float); bytes between rows are left unchanged
 * @return INLAY_OK; INLAY_ERROR_NULL, _SHAPE, _STRIDE or _OVERFLOW for an argument, _OVERFLOW also if the index of an
 *         element exceeds 64 bits; INLAY_ERROR_OPTION for a field of `spec`; INLAY_ERROR_OVERLAP
 */
INLAY_API inlay_status inlay_table_random(const inlay_random_spec *spec, void *out, size_t rows, size_t dim,
                                          size_t stride_bytes);

#ifdef __cplusplus
}
#endif

#endif
