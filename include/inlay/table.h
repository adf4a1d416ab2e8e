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
    INLAY_I8 = 4,         /**< int8 q [dim] and one scale per row: q * scale */
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
} inlay_element_type;

/** One more than the largest element type. */
#define INLAY_ELEMENT_TYPES 12

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

/**
 * A view of a table [rows, dim] in the caller's memory. It owns nothing, and the memory must outlive its use. Make one
 * with the constructor of its type below; change stride_bytes afterwards if rows are not contiguous.
 */
typedef struct inlay_table {
    size_t size;             /**< sizeof(inlay_table) */
    const void *data;        /**< [rows, dim] of `type`, at any address; may be null if rows is 0 */
    size_t rows;             /**< number of rows, >= 0 */
    size_t dim;              /**< columns of a row, >= 1; a multiple of `group`, or of 32 in ggml's types */
    size_t stride_bytes;     /**< distance between rows, >= inlay_table_row_bytes(type, dim) */
    inlay_element_type type; /**< of the elements */
    uint32_t group;          /**< columns per scale of INLAY_U4_GROUPED and INLAY_U4_GROUPED_FLAT: 32, 64 or 128; of
                                  other types 0 */
    const void *scales;      /**< float32 at any address: [rows] for INLAY_I8 and INLAY_I8_INVERSE, [rows, dim / group]
                                  for the grouped types; else null. Infinities and NaN propagate by IEEE 754 */
    const void *zeros;       /**< null, or 4-bit zero points [rows, dim / group] of a grouped type, two in a byte, the
                                  lower half first: rows of ceil(dim / group / 2) bytes for INLAY_U4_GROUPED, all in one
                                  run of ceil(rows * dim / group / 2) bytes for INLAY_U4_GROUPED_FLAT */
    size_t first_row;        /**< of a shard: the table holds rows [first_row, first_row + rows) of a vocabulary */
    size_t vocab;            /**< of a shard: rows of the whole vocabulary; 0: the table is the whole vocabulary */
} inlay_table;

/** Returns the bytes of one row of `dim` columns, including scales that lie within the row. This is the smallest valid
    stride. Returns 0 if no row of that type has `dim` columns, or if its bytes overflow size_t. */
INLAY_API size_t inlay_table_row_bytes(inlay_element_type type, size_t dim);

/** Returns a view of a table [rows, dim] whose rows lie `stride_bytes` apart. Its scales and zero points are null; set
    them, and group, for types that have them. Use it for a type chosen at run time or for rows that are not contiguous;
    otherwise use the constructor of the type. Nothing is validated before the view is used. */
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

/** Returns a view of a contiguous int8 table [rows, dim], each row of which is multiplied by its float32 scale in
    `scales` [rows]. */
static inline inlay_table inlay_table_i8(const void *data, const void *scales, size_t rows, size_t dim)
{
    inlay_table table = inlay_table_of(INLAY_I8, data, rows, dim, dim);
    table.scales = scales;
    return table;
}

/** Returns a view of a contiguous int8 table [rows, dim], each row of which is multiplied by the reciprocal of its
    float32 scale in `scales` [rows]. */
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

/** Returns a copy of a view that is a shard: it holds rows [first_row, first_row + table.rows) of a vocabulary of
    `vocab` rows. inlay_layer_spec.tokens says what a layer writes for ids of other shards. */
static inline inlay_table inlay_table_shard(inlay_table table, size_t first_row, size_t vocab)
{
    table.first_row = first_row;
    table.vocab = vocab;
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
 * below are exact for INLAY_F16, INLAY_BF16 and ggml's types. For the others, rounding what is read back to float32
 * adds at most 2^-22 of the largest magnitude that shares the step.
 *
 * - INLAY_F16, INLAY_BF16: each value is rounded to nearest even, with an error of at most half a unit in the last
 *   place. Infinities and NaN stay; values that are too large become infinite.
 * - INLAY_I8, INLAY_I8_INVERSE: the step is the row's max |x| / 127, and INLAY_I8_INVERSE stores its reciprocal. Error:
 *   half a step.
 * - INLAY_U8_ROWWISE: the bias is the row's min, the step is (max - min) / 255. Error: half a step.
 * - INLAY_U4_ROWWISE: the bias is the row's min, the step is (max - min) / 15, and both are rounded to float16. Error:
 *   half a step plus what that rounding moves, at most 2^-11 of |min| and of max - min.
 * - INLAY_U4_GROUPED, INLAY_U4_GROUPED_FLAT with zero points: the step is the group's (max - min) / 15, where 0 counts
 *   as one of the values. Error: half a step.
 * - INLAY_U4_GROUPED without zero points: the step is the group's max |x| / 7. Error: half a step.
 * - INLAY_U4_GROUPED_FLAT without zero points: the step is the group's max / 15. It holds no negative values: these are
 *   INLAY_ERROR_OPTION. Error: half a step.
 * - INLAY_Q8_0: the step is the block's max |x| / 127, and is then rounded to float16. Error: 0.57 steps.
 * - INLAY_Q4_0: the step is the block's max |x| / 8, such that the value with that magnitude becomes -8, and is then
 *   rounded to float16. Error: 1.01 steps.
 *
 * ggml's types get the bytes that ggml's reference (quantize_row_q8_0_ref, quantize_row_q4_0_ref) writes, except where
 * the float16 step underflows to 0: every value of such a block is read back as 0, as with ggml, but the numbers beside
 * the step can differ.
 *
 * A float32 step is at least 2^-126. A float16 step below 2^-14 has few digits; there the error is larger by at most
 * 8 * 2^-24 (INLAY_U4_ROWWISE, INLAY_Q4_0) or 64 * 2^-24 (INLAY_Q8_0). A row, group or block of zeros is read back as
 * zeros; a row of a rowwise type whose values are all equal is read back as its bias.
 *
 * @param from           a float32 table [rows, dim] that is no shard
 * @param to             the arrays to write
 * @param view           null, or where to write the view of the new table, which points to the arrays of `to`
 * @param largest_error  null, or where to write the largest error of all values, in which NaN and infinities that stay
 *                       count as 0
 * @return INLAY_OK; INLAY_ERROR_NULL if `from` or `to` is null; INLAY_ERROR_OPTION if `from` is not float32 or is a
 *         shard, or if a value is NaN, infinite or of a magnitude that the type cannot hold (above 65504 for types
 *         with a float16 scale, above 2^126 for others with a scale); INLAY_ERROR_OVERLAP if an output (an array of
 *         `to`, *view, *largest_error) overlaps another output, the data of `from`, or one of the structs `from` and
 *         `to`; otherwise the status of the first array that is missing or too small. Only INLAY_OK writes anything.
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
 * What inlay_table_random() writes. Each element is a function of its index, key and offset alone, so that a table made
 * in parts, in any order and on any machine, has the same bits. Start from inlay_random_spec_default().
 *
 * Element e = (first_row + row) * dim + column takes w, word e mod 4 of the block that Philox4x32-10 (Salmon et al.
 * 2011) makes of the counter {e / 4, offset}, two 64-bit numbers with the lower half of each first, and of `key`. The
 * element is the quantile at u = (w + 1/2) / 2^32 of the distribution: one of 2^32 values, which reach +-6.34 for a
 * standard normal distribution.
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
