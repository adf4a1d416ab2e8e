/* SPDX-License-Identifier: MIT */
/*
 * Sizes of elements and of rows, type by type.
 */
#include "table/element.h"

size_t inlay_type_bytes(inlay_element_type type)
{
    switch (type) {
    case INLAY_F32:
        return 4;
    case INLAY_F16:
    case INLAY_BF16:
        return 2;
    default:
        return 0;
    }
}

size_t inlay_table_row_bytes(inlay_element_type type, size_t dim)
{
    enum { BLOCK = 32, HALF_BYTES = 2 };
    size_t bytes;
    switch (type) {
    case INLAY_F32:
        return __builtin_mul_overflow(dim, 4, &bytes) ? 0 : bytes;
    case INLAY_F16:
    case INLAY_BF16:
        return __builtin_mul_overflow(dim, 2, &bytes) ? 0 : bytes;
    case INLAY_I8:
    case INLAY_I8_INVERSE:
        return dim;
    case INLAY_U8_ROWWISE:
        return dim == 0 || __builtin_add_overflow(dim, 2 * sizeof(float), &bytes) ? 0 : bytes;
    case INLAY_U4_ROWWISE:
        return dim == 0 ? 0 : dim / 2 + dim % 2 + 2 * HALF_BYTES;
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
        return dim / 2 + dim % 2;
    case INLAY_Q8_0:
        return dim % BLOCK || __builtin_mul_overflow(dim / BLOCK, BLOCK + HALF_BYTES, &bytes) ? 0 : bytes;
    case INLAY_Q4_0:
        return dim % BLOCK ? 0 : dim / BLOCK * (BLOCK / 2 + HALF_BYTES);
    }
    return 0;
}

size_t inlay_bytes_before(inlay_element_type type, size_t column)
{
    switch (type) {
    case INLAY_U8_ROWWISE:
        return column;
    case INLAY_U4_ROWWISE:
        return column / 2;
    default:
        return inlay_table_row_bytes(type, column);
    }
}

inlay_status inlay_check_matrix(const void *data, size_t rows, size_t dim, inlay_element_type type, size_t stride_bytes,
                                struct inlay_extent *extent)
{
    *extent = (struct inlay_extent){0, 0};
    if (inlay_type_bytes(type) == 0)
        return INLAY_ERROR_OPTION;
    if (dim == 0)
        return INLAY_ERROR_SHAPE;
    size_t row_bytes = inlay_table_row_bytes(type, dim);
    return row_bytes == 0 ? INLAY_ERROR_OVERFLOW : inlay_check_rows(data, rows, row_bytes, stride_bytes, extent);
}
