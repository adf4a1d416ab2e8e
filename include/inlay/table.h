/* SPDX-License-Identifier: MIT */
/**
 * @file table.h
 * Embedding tables: views of the caller's memory in any element type, conversion of a float32 table to another type,
 * and tables of random numbers. The conventions of inlay.h hold.
 */
#ifndef INLAY_TABLE_H
#define INLAY_TABLE_H

#include <inlay/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types ---------------------------------------------------------------------------------------------- */

/**
 * The type of the elements of a table or an output. 0 is no type, so that a forgotten field is an error.
 *
 * A table can have any of these types; kernels dequantise its rows in registers and make no copy. An output is
 * INLAY_F32, INLAY_F16 or INLAY_BF16. Below, q is the number stored for a column, and the formula gives its value; each
 * product, quotient and sum in it is rounded to float32.
 */
typedef enum inlay_element_type {
    INLAY_F32 = 1,        /**< IEEE 754 binary32 */
    INLAY_F16 = 2,        /**< IEEE 754 binary16 */
    INLAY_BF16 = 3,       /**< bfloat16, the upper half of a binary32 */
    INLAY_I8 = 4,         /**< int8 q [dim] and optionally one scale per row: q * scale. Without scales, scale is 1 */
    INLAY_I8_INVERSE = 5, /**< int8 q [dim] and one scale per row: q * (1 / scale). CTranslate2's int8 embeddings */
    INLAY_U8_ROWWISE = 6, /**< uint8 q [dim], then float32 scale and bias within the row: q * scale + bias. The 8-bit
                               rowwise format of FBGEMM and PyTorch */
    INLAY_U4_ROWWISE = 7, /**< 4-bit q [dim], two in a byte, the lower half first, then float16 scale and bias within
                               the row: q * scale + bias. FBGEMM's n-bit rowwise format */
    INLAY_U4_GROUPED = 8, /**< 4-bit q [dim] packed in the same way, with one scale and optionally one zero point for
                               each `group` columns: (q - zero) * scale. Without zero points, zero is 8. ONNX
                               Runtime's GatherBlockQuantized with uint8 data */
    INLAY_Q8_0 = 9,       /**< blocks of 32 columns, each a float16 d and int8 q [32]: q * d. ggml */
    INLAY_Q4_0 = 10,      /**< blocks of 32 columns, each a float16 d and 16 bytes, whose lower halves are the first 16
                               columns and whose upper halves are the others: (q - 8) * d. ggml */
    INLAY_U4_GROUPED_FLAT = 11, /**< like INLAY_U4_GROUPED, but zero points are packed without padding between rows,
                                     and without zero points zero is 0. GatherBlockQuantized with uint4 data */
    INLAY_E4M3 = 12,      /**< 8-bit floats q [dim] and optionally one scale per row: q * scale. Without scales, scale
                               is 1. E4M3 is the type of that name of the Open Compute Project (OCP) and PyTorch's
                               float8_e4m3fn: magnitudes up to 448, subnormals down to 2^-9, -0, NaN, no infinities */
    INLAY_E4M3_E8M0 = 13, /**< the same q, with one byte e for each 32 columns: q * 2^(e - 127), where e = 255 is NaN.
                               OCP's MXFP8, and DeepSeek's Engram tables */
    INLAY_Q4_1 = 14,      /**< blocks of 32 columns, each a float16 d and m and 16 bytes as in INLAY_Q4_0: q * d + m.
                               ggml */
    INLAY_Q5_0 = 15,      /**< blocks of 32 columns, each a float16 d, 32 bits, and 16 bytes as in INLAY_Q4_0 whose q
                               get 16 times the bit of their column: (q - 16) * d. ggml */
    INLAY_Q5_1 = 16,      /**< blocks of 32 columns, each a float16 d and m and the same: q * d + m. ggml */
    INLAY_IQ4_NL = 17, /**< the blocks of INLAY_Q4_0: L[q] * d, where L is -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38
                            53 69 89 113. ggml */
    INLAY_MXFP4 = 18,  /**< blocks of 32 columns, each a byte e and 16 bytes as in INLAY_Q4_0: E[q] * 2^(e - 128),
                            where E is 0 1 2 3 4 6 8 12 and, from q = 8 on, minus these. There is no NaN and no -0.
                            ggml, whose bytes lie in another order than those of OCP's MXFP4 */
    INLAY_NVFP4 = 19,  /**< blocks of 64 columns: 4 scales x of 16 columns each, then 32 bytes. Byte 8 s + i holds
                            column 16 s + i in its lower half and 16 s + 8 + i in the upper one. E[q] times half of the
                            E4M3 number x, whose sign is ignored; 127 is 0, and 255 is 480. ggml */
    INLAY_Q3_K = 20,   /**< blocks of 256 columns in 110 bytes, ggml's block_q3_K: (d * s) * q, with a 6-bit s for each
                            16 columns and q from -4 to 3 */
    INLAY_Q4_K = 21,   /**< blocks of 256 columns in 144 bytes, ggml's block_q4_K: (d * s) * q - dmin * m, with 6-bit
                            s and m for each 32 columns and q from 0 to 15 */
    INLAY_Q5_K = 22,   /**< blocks of 256 columns in 176 bytes, ggml's block_q5_K: as INLAY_Q4_K, with q from 0 to 31 */
    INLAY_Q6_K = 23,   /**< blocks of 256 columns in 210 bytes, ggml's block_q6_K: (d * s) * q, with an int8 s for each
                            16 columns and q from -32 to 31 */
    INLAY_Q2_K = 24,   /**< blocks of 256 columns in 84 bytes, ggml's block_q2_K: as INLAY_Q4_K, with 4-bit s and m for
                            each 16 columns and q from 0 to 3 */
    INLAY_IQ4_XS = 25, /**< blocks of 256 columns in 136 bytes, ggml's block_iq4_xs: (d * s) * L[q], with a 6-bit s for
                            each 32 columns and the L of INLAY_IQ4_NL */
    INLAY_IQ3_S = 26,  /**< blocks of 256 columns in 110 bytes, ggml's block_iq3_s: (d * s) * q, with an odd s from 1 to
                            31 for each 32 columns and odd q from -15 to 15. The magnitudes of four columns are one of
                            512 quadruples, ggml's iq3s_grid */
    INLAY_I8_GROUPED =
        27,                /**< int8 q [dim] with one scale and optionally one int8 zero point for each `group` columns:
                                (q - zero) * scale. Without zero points, zero is 0. int-quantized of compressed-tensors */
    INLAY_U8_GROUPED = 28, /**< the same of uint8, and without zero points zero is 128. Its pack-quantized of 8 bits */
    INLAY_E2M1_F32 = 29,   /**< 4-bit floats q [dim], two in a byte, the lower half first, with one scale for each 16
                                columns: q * scale. q is 0 0.5 1 1.5 2 3 4 6 and, from 8 on, minus these; there is no -0.
                                NVFP4 of ModelOpt, whose two factors are multiplied first */
} inlay_element_type;

/** One more than the largest element type. */
#define INLAY_ELEMENT_TYPES 30

/** Returns a name of an element type. Index 0 is the name in the command and the Python package ("q4_k", "float16"),
    index 1 the spelling of model files or specifications ("Q4_K", "F16"), and further ones are synonyms ("fp16",
    "half"). Null past the last name, which may be the first, and for a value that is no type. */
INLAY_API const char *inlay_element_type_name(inlay_element_type type, size_t index);

/** Returns the element type that has a name equal to `text`, as inlay_name_equal() compares them; 0 for null and if no
   type has. */
INLAY_API inlay_element_type inlay_element_type_named(const char *text);

/** The type of ids of tokens, positions and segments. 0 is no type. */
typedef enum inlay_id_type {
    INLAY_ID_I32 = 1, /**< int32_t */
    INLAY_ID_I64 = 2, /**< int64_t */
    INLAY_ID_U8 = 3,  /**< uint8_t */
    INLAY_ID_U16 = 4, /**< uint16_t */
    INLAY_ID_I16 = 5, /**< int16_t */
    INLAY_ID_U32 = 6, /**< uint32_t */
} inlay_id_type;

/* ---- Views ------------------------------------------------------------------------------------------------------ */

/** One of several arrays that hold the rows of a table: a tensor of a checkpoint that is cut into many, for example. It
    holds the rows from first_row to the first row of the next extent, or to the table's last row. */
typedef struct inlay_table_extent {
    const void *data;   /**< its rows, as inlay_table.data */
    const void *scales; /**< those of its rows, as inlay_table.scales; null for types without such an array */
    const void *zeros;  /**< the zero points of its rows, which begin in a byte of their own, as inlay_table.zeros; null
                           in all extents of a table or in none */
    size_t first_row;   /**< index in the table of its first row; 0 for the first extent */
} inlay_table_extent;

/**
 * A view of a table [rows, dim] in the caller's memory. It owns nothing, and the memory must outlive its use. Make one
 * with the constructor of its type below; change stride_bytes afterwards if rows are not contiguous.
 */
typedef struct inlay_table {
    size_t size;             /**< sizeof(inlay_table) */
    const void *data;        /**< [rows, dim] of `type`, at any address; may be null if rows is 0 */
    size_t rows;             /**< number of rows, >= 0 */
    size_t dim;              /**< columns of a row, >= 1; a multiple of `group`, or of the columns of a block */
    size_t stride_bytes;     /**< distance between rows, >= inlay_table_row_bytes(type, dim) */
    inlay_element_type type; /**< of the elements */
    uint32_t group;     /**< columns per scale of the grouped types, whose names say GROUPED: 32, 64 or 128; of other
                             types 0 */
    const void *scales; /**< float32 at any address: [rows] for INLAY_I8_INVERSE, null or [rows] for INLAY_I8 and
                             INLAY_E4M3, [rows, dim / group] for the grouped types, [rows, dim / 16] for
                             INLAY_E2M1_F32; uint8 [rows, dim / 32] for INLAY_E4M3_E8M0; else null. Infinities and
                             NaN propagate by IEEE 754 */
    const void *zeros;  /**< null, or zero points [rows, dim / group] of a grouped type, with as many bits as its
                             numbers. Those of 4 bits lie two in a byte, the lower half first: in rows of
                             ceil(dim / group / 2) bytes for INLAY_U4_GROUPED, in one run of
                             ceil(rows * dim / group / 2) bytes for INLAY_U4_GROUPED_FLAT */
    size_t first_row;   /**< of a shard: the table holds rows [first_row, first_row + rows) of a vocabulary */
    size_t vocab;       /**< of a shard: rows of the whole vocabulary; 0: the table is the whole vocabulary */
    const inlay_table_extent *extents; /**< null, or [extent_count]: the arrays that hold the rows, in the order of
                                          rows. Then data, scales and zeros above are null. Copies of the view share
                                          this array: it must outlive them */
    size_t extent_count;               /**< number of extents, >= 1 with extents; else 0 */
    size_t extent_rows; /**< rows of every extent but the last, which has no more; 0: extents of any length, or none */
} inlay_table;

/** Returns the bytes of one row of `dim` columns, including scales that lie within the row. This is the smallest valid
    stride. Returns 0 if no row of that type has `dim` columns, or if its bytes overflow size_t. */
INLAY_API size_t inlay_table_row_bytes(inlay_element_type type, size_t dim);

/** Returns a view of a table [rows, dim] whose rows lie `stride_bytes` apart. Its scales and zero points are null; set
   them, and group, for types that have them. Use it for a type chosen at run time, for rows that are not contiguous,
   and for types without a constructor (from INLAY_Q2_K on). Otherwise use the constructor of the type. Contiguous rows
   lie inlay_table_row_bytes() apart. Nothing is validated before the view is used. */
static inline inlay_table inlay_table_of(inlay_element_type type, const void *data, size_t rows, size_t dim,
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
    return inlay_table_of(INLAY_F32, data, rows, dim, dim * sizeof(float));
}

/** Returns a view of a contiguous float16 table [rows, dim]. */
static inline inlay_table inlay_table_f16(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_F16, data, rows, dim, dim * 2);
}

/** Returns a view of a contiguous bfloat16 table [rows, dim]. */
static inline inlay_table inlay_table_bf16(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_BF16, data, rows, dim, dim * 2);
}

/** Returns a view of a contiguous int8 table [rows, dim]. Each row is multiplied by its float32 scale in `scales`
    [rows], or by 1 if `scales` is null. */
static inline inlay_table inlay_table_i8(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_of(INLAY_I8, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a view of a contiguous int8 table [rows, dim]. Each row is multiplied by the reciprocal of its float32 scale
    in `scales` [rows]. */
static inline inlay_table inlay_table_i8_inverse(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_of(INLAY_I8_INVERSE, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a view of a contiguous table [rows, dim] in FBGEMM's 8-bit rowwise format, whose rows have dim + 8 bytes. */
static inline inlay_table inlay_table_u8_rowwise(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_U8_ROWWISE, data, rows, dim, dim + 8);
}

/** Returns a view of a contiguous table [rows, dim] in FBGEMM's 4-bit rowwise format, whose rows have
    ceil(dim / 2) + 4 bytes. */
static inline inlay_table inlay_table_u4_rowwise(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_U4_ROWWISE, data, rows, dim, dim / 2 + dim % 2 + 4);
}

/**
 * Returns a view of the data of ONNX Runtime's GatherBlockQuantized in its uint8 form: contiguous 4-bit rows of dim / 2
 * bytes.
 *
 * @param data    4-bit [rows, dim], two in a byte, the lower half first
 * @param scales  float32 [rows, dim / group]
 * @param zeros   4-bit zero points [rows, dim / group] in rows of ceil(dim / group / 2) bytes; null: all are 8
 * @param rows    number of rows, >= 0
 * @param dim     columns of a row, a multiple of `group`
 * @param group   columns per scale: 32, 64 or 128
 */
static inline inlay_table inlay_table_u4_grouped(const void *data, const void *scales, const void *zeros, size_t rows,
                                                 size_t dim, uint32_t group)
{
    inlay_table table = inlay_table_of(INLAY_U4_GROUPED, data, rows, dim, dim / 2 + dim % 2);
    table.group = group;
    table.scales = scales;
    table.zeros = zeros;
    return table;
}

/** Returns a view of the data of ONNX Runtime's GatherBlockQuantized in its uint4 form. It differs from
    inlay_table_u4_grouped() only in the zero points: they are packed without padding between rows, in
    ceil(rows * dim / group / 2) bytes, and null means that every zero point is 0. */
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
    return inlay_table_of(INLAY_Q8_0, data, rows, dim, dim / 32 * 34);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q4_0 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 18 bytes. */
static inline inlay_table inlay_table_q4_0(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q4_0, data, rows, dim, dim / 32 * 18);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q4_1 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 20 bytes. */
static inline inlay_table inlay_table_q4_1(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q4_1, data, rows, dim, dim / 32 * 20);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q5_0 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 22 bytes. */
static inline inlay_table inlay_table_q5_0(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q5_0, data, rows, dim, dim / 32 * 22);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q5_1 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 24 bytes. */
static inline inlay_table inlay_table_q5_1(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q5_1, data, rows, dim, dim / 32 * 24);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's IQ4_NL blocks; dim is a multiple of 32, and a row has
    dim / 32 * 18 bytes. */
static inline inlay_table inlay_table_iq4_nl(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_IQ4_NL, data, rows, dim, dim / 32 * 18);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's MXFP4 blocks; dim is a multiple of 32, and a row has
    dim / 32 * 17 bytes. */
static inline inlay_table inlay_table_mxfp4(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_MXFP4, data, rows, dim, dim / 32 * 17);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's NVFP4 blocks; dim is a multiple of 64, and a row has
    dim / 64 * 36 bytes. */
static inline inlay_table inlay_table_nvfp4(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_NVFP4, data, rows, dim, dim / 64 * 36);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q3_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 110 bytes. */
static inline inlay_table inlay_table_q3_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q3_K, data, rows, dim, dim / 256 * 110);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q4_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 144 bytes. */
static inline inlay_table inlay_table_q4_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q4_K, data, rows, dim, dim / 256 * 144);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q5_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 176 bytes. */
static inline inlay_table inlay_table_q5_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q5_K, data, rows, dim, dim / 256 * 176);
}

/** Returns a view of a contiguous table [rows, dim] of ggml's Q6_K blocks; dim is a multiple of 256, and a row has
    dim / 256 * 210 bytes. */
static inline inlay_table inlay_table_q6_k(const void *data, size_t rows, size_t dim)
{
    return inlay_table_of(INLAY_Q6_K, data, rows, dim, dim / 256 * 210);
}

/** Returns a view of a contiguous table [rows, dim] of 8-bit floats (E4M3). Each row is multiplied by its float32 scale
    in `scales` [rows], or by 1 if `scales` is null. If the whole table has one scale, give it to the layer or
    the call. */
static inline inlay_table inlay_table_e4m3(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_of(INLAY_E4M3, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a view of a contiguous table [rows, dim] of 8-bit floats (E4M3); dim is a multiple of 32. `scales` has one
    power of two (E8M0) for each 32 columns, as uint8 [rows, dim / 32]. */
static inline inlay_table inlay_table_e4m3_e8m0(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_of(INLAY_E4M3_E8M0, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a copy of a view that is a shard: it holds rows [first_row, first_row + table.rows) of a vocabulary of
    `vocab` rows. inlay_layer_spec.tokens says what a layer writes for ids of other shards. */
static inline inlay_table inlay_table_shard(inlay_table table, size_t first_row, size_t vocab)
{
    table.first_row = first_row;
    table.vocab = vocab;
    return table;
}

/**
 * Returns a copy of a view whose rows lie in several arrays instead of one. Type, rows, dim, stride and group are those
 * of the view; its data, scales and zero points become null. Calls that read the view return INLAY_ERROR_SHAPE unless
 * the extents hold its rows without a gap and each holds at least one. The results are those of the same rows in one
 * array, bit by bit.
 *
 * @param table        a view of `rows` >= 1 rows, from inlay_table_of() for example
 * @param extents      [count], in the order of rows. This array is not copied: it must outlive the use of the view, and
 *                     must neither change nor overlap an output meanwhile
 * @param count        number of extents, >= 1
 * @param extent_rows  rows of every extent but the last, which has no more: the extent of a row is found by a division;
 *                     0: any numbers of rows, and the extent is found by a binary search
 */
static inline inlay_table inlay_table_in_extents(inlay_table table, const inlay_table_extent *extents, size_t count,
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

/* ---- Quantising ------------------------------------------------------------------------------------------------- */

/** The arrays that inlay_table_quantize() writes: those of an inlay_table, but mutable. Its rows and columns are those
    of the table that is converted. */
typedef struct inlay_table_storage {
    size_t size;             /**< sizeof(inlay_table_storage) */
    void *data;              /**< [rows, dim] of `type`, at any address */
    size_t stride_bytes;     /**< distance between rows; bytes between rows are left unchanged */
    inlay_element_type type; /**< the type to convert to */
    uint32_t group;          /**< as in inlay_table */
    void *scales;            /**< as in inlay_table; null for types without an array of scales */
    void *zeros;             /**< as in inlay_table; null: no zero points are stored */
} inlay_table_storage;

/** Returns the storage of contiguous rows of `dim` columns of a type. Set group, scales and zeros afterwards for types
    that have them. */
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
 * Converts a float32 table [rows, dim] to another type. The error of a value x is |x - what is read back|. The bounds
 * below are exact for 16-bit types, INLAY_E4M3_E8M0 and ggml's types. For the others, and for INLAY_Q4_1 and
 * INLAY_Q5_1, rounding what is read back to float32 adds at most 2^-22 of the largest magnitude that shares the step.
 *
 * - INLAY_F16, INLAY_BF16: each value is rounded to nearest even, with an error of at most half a unit in the last
 *   place. Infinities and NaN stay; values that are too large become infinite.
 * - INLAY_I8, INLAY_I8_INVERSE: the step is the row's max |x| / 127, and INLAY_I8_INVERSE stores its reciprocal. Error:
 *   half a step. INLAY_I8 without scales: the step is 1, and magnitudes above 127 are INLAY_ERROR_OPTION.
 * - INLAY_U8_ROWWISE: the bias is the row's min, the step is (max - min) / 255. Error: half a step.
 * - INLAY_U4_ROWWISE: the bias is the row's min, the step is (max - min) / 15, and both are rounded to float16. Error:
 *   half a step plus what that rounding moves, at most 2^-11 of |min| and of max - min.
 * - INLAY_U4_GROUPED, INLAY_U4_GROUPED_FLAT with zero points: the step is the group's (max - min) / 15, where 0 counts
 *   as one of the values. INLAY_I8_GROUPED, INLAY_U8_GROUPED: likewise / 255. Error: half a step.
 * - INLAY_U4_GROUPED without zero points: the step is the group's max |x| / 7. INLAY_I8_GROUPED, INLAY_U8_GROUPED:
 *   likewise / 127. Error: half a step.
 * - INLAY_U4_GROUPED_FLAT without zero points: the step is the group's max / 15. It holds no negative values: these are
 *   INLAY_ERROR_OPTION. Error: half a step.
 * - INLAY_Q8_0: the step is the block's max |x| / 127, and is then rounded to float16. Error: 0.57 steps.
 * - INLAY_Q4_0: the step is the block's max |x| / 8, such that the value with that magnitude becomes -8, and is then
 *   rounded to float16. Error: 1.01 steps.
 * - INLAY_Q5_0: the same with max |x| / 16 and -16.
 * - INLAY_Q4_1, INLAY_Q5_1: m is the block's min and the step is (max - min) / 15 or / 31, both rounded to float16.
 *   Error: 0.51 steps, plus 2^-11 of |min| and of max - min.
 * - INLAY_IQ4_NL: the step is the block's max |x| / 127, such that the value with that magnitude becomes -127, and is
 *   then rounded to float16. Error: 14.1 steps, since the values are -127 to 113.
 * - INLAY_MXFP4: the largest power of two in the block becomes 4. Error: a quarter of the block's max |x|, or 2^-129 if
 *   that is more.
 * - INLAY_NVFP4: the scale is the max |x| of 16 columns / 6, rounded to E4M3. Error: 0.18 of that max |x|, plus
 *   6 * 2^-10. Magnitudes above 2688 are INLAY_ERROR_OPTION.
 * - INLAY_Q3_K: the step is the max |x| of 256 columns / 3. INLAY_Q6_K: likewise / 31. INLAY_Q4_K: the step is
 *   (max - min) / 15 of 256 columns, where 0 counts as one of the values. INLAY_Q5_K: likewise / 31. Error: 0.52 steps;
 *   where the columns that share a scale have smaller values, it is smaller. INLAY_Q2_K: likewise (max - min) / 3, with
 *   an error of 0.54 steps.
 * - INLAY_IQ4_XS: as INLAY_IQ4_NL, of 256 columns. Where the 32 columns of a scale have smaller values, it is smaller.
 * - INLAY_IQ3_S: the step is the max |x| of 256 columns / 15, and four columns become the nearest ones of ggml's 512
 *   quadruples. Error: 7.8 steps; where the 32 columns of a scale have smaller values, it is smaller.
 * - INLAY_E2M1_F32: the scale is the max |x| of 16 columns / 6. Error: a sixth of that max |x|.
 * - INLAY_E4M3: the row's scale is max |x| / 448, and x / scale is rounded to nearest even. Error: |x| / 16, or
 *   scale / 1024 if that is more. Without scales, scale is 1, and magnitudes above 448 are INLAY_ERROR_OPTION.
 * - INLAY_E4M3_E8M0: the scale is the smallest power of two by which 32 columns do not exceed 448. Error: |x| / 16, or
 *   if that is more max |x| / 229376 (of the 32) or 2^-137.
 *
 * INLAY_Q8_0, INLAY_Q4_0, INLAY_Q4_1, INLAY_Q5_0 and INLAY_Q5_1 get the bytes of ggml's reference
 * (quantize_row_q8_0_ref and so on). The exception is a block whose float16 step underflows to 0: its values are read
 * back as with ggml, but the numbers beside the step can differ. For the other types ggml's reference searches for
 * scales with a smaller mean error, and this function does not.
 *
 * A float32 step is at least 2^-126. A float16 step below 2^-14 has few digits, so the error is larger by at most
 * 16 * 2^-24 for INLAY_Q5_1, 64 * 2^-24 for INLAY_Q8_0, INLAY_IQ4_NL and INLAY_IQ4_XS, and 8 * 2^-24 for the other
 * types with a float16 step. A row, group or block of zeros is read back as zeros; a row of a
 * rowwise type whose values are all equal is read back as its bias.
 *
 * @param from           a float32 table [rows, dim] that is no shard; it may lie in extents
 * @param to             the arrays to write
 * @param view           null, or where to write the view of the new table, which points to the arrays of `to`
 * @param largest_error  null, or where to write the largest error of all values, in which NaN and infinities that stay
 *                       count as 0
 * @return INLAY_OK; INLAY_ERROR_NULL if `from` or `to` is null; INLAY_ERROR_OPTION if `from` is not float32 or is a
 *         shard, or if a value is NaN, infinite or of a magnitude that the type cannot hold (above 65504 for types
 *         with a float16 scale, above 2^126 for others with a scale, unless stated otherwise above);
 *         INLAY_ERROR_OVERLAP if an output (an array of `to`, *view, *largest_error) overlaps another output, the data
 *         of `from`, or one of the structs `from` and `to`; otherwise the status of the first array that is missing or
 *         too small. Only INLAY_OK writes anything.
 */
INLAY_API inlay_status inlay_table_quantize(const inlay_table *from, const inlay_table_storage *to, inlay_table *view,
                                            double *largest_error);

/* ---- Random tables ---------------------------------------------------------------------------------------------- */

/** The distribution of the elements of a new table. 0 is none. */
typedef enum inlay_random_kind {
    INLAY_RANDOM_NORMAL = 1,           /**< mean + deviation * z, z standard normal */
    INLAY_RANDOM_TRUNCATED_NORMAL = 2, /**< mean + deviation * z, z standard normal and within [low, high] */
    INLAY_RANDOM_UNIFORM = 3,          /**< low + (high - low) * u, u in (0, 1) */
} inlay_random_kind;

/**
 * What inlay_table_random() writes. Start from inlay_random_spec_default(). An element depends on its index, key and
 * offset alone, so a table made in parts, in any order and on any machine, has the same bits:
 *
 *     e       = (first_row + row) * dim + column
 *     w       = word e mod 4 of Philox4x32-10 (Salmon et al. 2011) of `key` and of the counter {e / 4, offset}, which
 *               is two 64-bit numbers, the lower half of each first
 *     element = the quantile of the distribution at (w + 1/2) / 2^32; a standard normal one reaches +-6.34
 */
typedef struct inlay_random_spec {
    size_t size;            /**< sizeof(inlay_random_spec) */
    size_t first_row;       /**< index in the whole table of the first row that is written */
    inlay_random_kind kind; /**< the distribution */
    uint32_t reserved;      /**< 0 */
    double mean;            /**< of the normal distributions, before truncation. This and the next three numbers must be
                                 finite and at most the largest float32 in magnitude, whether `kind` uses them or not,
                                 except where they state otherwise */
    double deviation;       /**< the standard deviation of the normal distributions, before truncation, >= 0 */
    double low;             /**< <= high. Truncated: in standard deviations from the mean (-2 in Keras), <= 8, may be
                                 -infinity. Uniform: the lower end */
    double high;            /**< Truncated: in standard deviations from the mean (2 in Keras), >= -8, may be infinity.
                                 Uniform: the upper end */
    uint64_t key;           /**< the seed */
    uint64_t offset;        /**< one of 2^64 independent tables of that key */
    int64_t zero_row;       /**< a row of the table to fill with zeros, that of a padding token for example; -1: none */
} inlay_random_spec;

/** Returns a spec with mean 0, deviation 1 and offset 0, truncated at +-2 deviations or uniform in [0, 1], without a
    row of zeros. */
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
 * Writes random rows, with the same bits on every machine. z is computed in double to within 2^-46 of its magnitude,
 * or of 1 if it is truncated and smaller; mean + deviation * z is computed in double and rounded once to float32. An
 * element takes about 20 ns.
 *
 * @param spec          the distribution and the seed
 * @param out           float32 [rows, dim], at any address; must not overlap the struct `spec`
 * @param rows          number of rows, >= 0
 * @param dim           columns of a row, >= 1
 * @param stride_bytes  distance between rows of `out`, >= dim * sizeof(float); bytes between rows are left unchanged
 * @return INLAY_OK; INLAY_ERROR_NULL, _SHAPE, _STRIDE or _OVERFLOW for an argument, the last also if an element's index
 *         exceeds 64 bits; INLAY_ERROR_OPTION for a field of `spec`; INLAY_ERROR_OVERLAP
 */
INLAY_API inlay_status inlay_table_random(const inlay_random_spec *spec, void *out, size_t rows, size_t dim,
                                          size_t stride_bytes);

#ifdef __cplusplus
}
#endif

#endif
