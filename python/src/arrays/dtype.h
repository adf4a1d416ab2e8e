/* SPDX-License-Identifier: MIT */
/*
 * The element types of arrays, and their names in NumPy, the buffer protocol, DLPack and inlay. Everything that depends
 * on an element type is a column of one table.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

#include <stdbool.h>

enum dtype {
    DTYPE_UNKNOWN,
    DTYPE_BOOL,
    DTYPE_I8,
    DTYPE_U8,
    DTYPE_I16,
    DTYPE_U16,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_I64,
    DTYPE_U64,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_E4M3,
    DTYPE_E8M0,
    DTYPES,
};

struct dtype_info {
    const char *name;           /* in NumPy, PyTorch and JAX */
    unsigned char bytes;        /* per element; 0: unknown */
    char format;                /* in the buffer protocol, for arrays made here */
    short numpy;                /* type number in NumPy; -1: not a builtin type */
    unsigned char dlpack_code;  /* DLDataTypeCode */
    inlay_id_type id;           /* 0: not a type of ids */
    inlay_element_type element; /* 0: not a type of tables */
};

extern const struct dtype_info dtype_infos[DTYPES];

/* Returns dtypes[number], or DTYPE_UNKNOWN if the number is out of range. */
enum dtype dtype_of_number(const unsigned char *dtypes, size_t count, int64_t number);

/* Returns the type of a NumPy type number, or DTYPE_UNKNOWN. */
enum dtype dtype_of_numpy(int number);

/* Returns the type of a format string of the buffer protocol, or DTYPE_UNKNOWN. */
enum dtype dtype_of_format(const char *format, Py_ssize_t bytes);

/* Returns the type with this DLPack code and number of bits, or DTYPE_UNKNOWN. */
enum dtype dtype_of_dlpack(unsigned code, unsigned bits);

/* Returns the type with this name, or DTYPE_UNKNOWN. */
enum dtype dtype_of_name(const char *name);

/* Returns true for the types of outputs: float32, float16 and bfloat16. */
bool dtype_is_output(enum dtype dtype);

/* Returns the array type of an element type of inlay, or DTYPE_UNKNOWN. */
enum dtype dtype_of_element(inlay_element_type type);

/* Returns the output type named by `object`: a string, a dtype of NumPy or PyTorch, or a scalar type like
   numpy.float32. Sets TypeError and returns DTYPE_UNKNOWN unless it is float32, float16 or bfloat16. */
enum dtype dtype_of_argument(PyObject *object);

/* Returns the type of row ids named by `object`, given as for dtype_of_argument(). Sets TypeError and returns
   DTYPE_UNKNOWN unless it is int32 or int64. */
enum dtype dtype_of_row_ids(PyObject *object);
