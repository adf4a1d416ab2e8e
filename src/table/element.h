/* SPDX-License-Identifier: MIT */
/*
 * Element types: how many bytes elements and rows take.
 */
#ifndef INLAY_TABLE_ELEMENT_H
#define INLAY_TABLE_ELEMENT_H

#include "base/arguments.h"

/* The bytes of one element of an output; 0 for a type that is none of theirs. */
size_t inlay_type_bytes(inlay_element_type type);

/* The bytes of a stored row before a column that is a multiple of 32 or, of floats, any. */
size_t inlay_bytes_before(inlay_element_type type, size_t column);

/* The extent of rows [rows, dim] of a type: INLAY_ERROR_OPTION, INLAY_ERROR_SHAPE, INLAY_ERROR_STRIDE,
   INLAY_ERROR_OVERFLOW or INLAY_ERROR_NULL where there is none. */
inlay_status inlay_check_matrix(const void *data, size_t rows, size_t dim, inlay_element_type type, size_t stride_bytes,
                                struct inlay_extent *extent);

#endif
