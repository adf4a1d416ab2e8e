/* SPDX-License-Identifier: MIT */
/*
 * The element types that arrays of Python can have, and what NumPy, the buffer protocol, DLPack and inlay call them.
 * Everything that depends on an element type is a column of one table.
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
    const char *name;           /* as NumPy, PyTorch and JAX spell it */
    unsigned char bytes;        /* of an element; 0: unknown */
    char format;                /* of the buffer protocol, for arrays that we make */
    short numpy;                /* type number in NumPy; -1: it has none of its own */
    unsigned char dlpack_code;  /* DLDataTypeCode */
    inlay_id_type id;           /* 0: cannot be ids as it is */
    inlay_element_type element; /* 0: cannot be a table */
};

extern const struct dtype_info dtype_infos[DTYPES];

/* Returns the type with a framework's number for it, an index in `dtypes`, or DTYPE_UNKNOWN. */
enum dtype dtype_of_number(const unsigned char *dtypes, size_t count, int64_t number);

/* Returns the type of a NumPy type number, or DTYPE_UNKNOWN. */
enum dtype dtype_of_numpy(int number);

/* Returns the type of a format string of the buffer protocol, or DTYPE_UNKNOWN. */
enum dtype dtype_of_format(const char *format, Py_ssize_t bytes);

/* Returns the type with this DLPack code and number of bits, or DTYPE_UNKNOWN. */
enum dtype dtype_of_dlpack(unsigned code, unsigned bits);

/* Returns the type with this name, or DTYPE_UNKNOWN. */
enum dtype dtype_of_name(const char *name);

/* Returns the type with this name if it is one that NumPy has from ml_dtypes, or DTYPE_UNKNOWN. */
enum dtype dtype_of_ml_name(const char *name);

/* Returns whether outputs can have a type: float32, float16 and bfloat16. */
bool dtype_is_output(enum dtype dtype);

/* Returns the type that an element type of inlay has as a plain array, or DTYPE_UNKNOWN. */
enum dtype dtype_of_element(inlay_element_type type);

/* Returns the output type that `object` names: a string, a dtype of NumPy or PyTorch, or a scalar type such as
   numpy.float32. Sets TypeError and returns DTYPE_UNKNOWN if it is not float32, float16 or bfloat16. */
enum dtype dtype_of_argument(PyObject *object);

/* Returns the type of row ids that `object` names in the same ways. Sets TypeError and returns DTYPE_UNKNOWN if it is
   neither int32 nor int64. */
enum dtype dtype_of_row_ids(PyObject *object);
