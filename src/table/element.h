/* SPDX-License-Identifier: MIT */
/*
 * Element types: how many bytes elements and rows take.
 */
#ifndef INLAY_TABLE_ELEMENT_H
#define INLAY_TABLE_ELEMENT_H

#include "base/arguments.h"

/* Returns the bytes of one element of an output; 0 for a type that outputs cannot have. */
size_t inlay_type_bytes(inlay_element_type type);

/* Returns the bytes of a row before a column, which is a multiple of 32 or, of floats, any. */
size_t inlay_bytes_before(inlay_element_type type, size_t column);

/* Sets the extent of rows [rows, dim] of a type that outputs can have. Returns INLAY_OK, or INLAY_ERROR_OPTION,
   INLAY_ERROR_SHAPE, INLAY_ERROR_STRIDE, INLAY_ERROR_OVERFLOW or INLAY_ERROR_NULL and an empty extent. */
inlay_status inlay_check_matrix(const void *data, size_t rows, size_t dim, inlay_element_type type, size_t stride_bytes,
                                struct inlay_extent *extent);

#endif
