/* SPDX-License-Identifier: MIT */
/*
 * Element types: names and memory layout of rows.
 */
#pragma once

#include "base/arguments.h"

/* Where the scales of a quantized type are. */
enum inlay_scales {
    INLAY_SCALES_NONE,      /* it has none, or they are in its blocks */
    INLAY_SCALES_IN_ROW,    /* before or after the elements of each row */
    INLAY_SCALES_PER_ROW,   /* in an array [rows] of float32 */
    INLAY_SCALES_PER_GROUP, /* in an array [rows, groups], with a float32 scale, or a float32 scale and bias */
    INLAY_SCALES_PER_BLOCK, /* in an array, one for each block of a row */
};

/* Memory layout of a type's rows: blocks of columns, then scales. A new type is one entry in this table. */
struct inlay_row_format {
    const char *names[8]; /* for inlay_element_type_name(). "int4" and "float8_e4m3" are ambiguous and omitted */
    unsigned char log2_columns, block_bytes; /* of a block. Rows of larger ones than of 2 columns have whole blocks */
    enum inlay_scales scales;
    unsigned char scale_bytes;   /* per row, group or block */
    unsigned char zeros_in_byte; /* zero points per byte, one per group; 0: the type has none */
    bool first;                  /* scales in the row precede its elements */
    bool optional;               /* the array of scales may be null: all scales are 1 */
};

extern const struct inlay_row_format inlay_row_formats[INLAY_ELEMENT_TYPES];

/* The scale of rows without an array of scales. */
extern const float inlay_unit_scale;

/* Returns the bytes of one element of an output; 0 for types that outputs can't have. */
size_t inlay_type_bytes(inlay_element_type type);

/* Sets the extent of rows [rows, dim] of an output type. Returns INLAY_OK, or INLAY_ERROR_OPTION,
   INLAY_ERROR_SHAPE, INLAY_ERROR_STRIDE, INLAY_ERROR_OVERFLOW or INLAY_ERROR_NULL and an empty extent. */
inlay_status inlay_check_matrix(const void *data, size_t rows, size_t dim, inlay_element_type type, size_t stride_bytes,
                                struct inlay_extent *extent);
