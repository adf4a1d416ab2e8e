/* SPDX-License-Identifier: MIT */
/*
 * NumPy without its headers: the fields of an array, which every version has had in the same places, and two functions
 * of its C API. They are used only after numpy_use() has compared a known array with what this file finds in it.
 */
#pragma once

#include "abi.h"
#include "arrays/dtype.h"

#include <stdbool.h>

/* The first fields of an array. Py_ssize_t stands for npy_intp. */
struct numpy_array {
    PyObject base;
    char *data;
    int dims;
    Py_ssize_t *shape, *stride_bytes;
    PyObject *owner;
    PyObject *descriptor;
    int flags;
};

/* Takes NumPy into use, or None where there is none. With `direct` the fields of arrays are read without a call into
   NumPy, if the probe finds them where they should be. Returns -1 with an exception. */
int numpy_use(PyObject *module, bool direct);

/* Returns whether the fields of arrays are read directly. */
bool numpy_is_direct(void);

/* Returns whether numpy_array_new() can make arrays with memory of their own. */
bool numpy_makes_arrays(void);

/* Returns NumPy, borrowed, or null with TypeError, which says that `what` needs it. */
PyObject *numpy_module(const char *what);

/* Returns whether there is NumPy. */
bool numpy_exists(void);

/* Returns the fields of an object if it is an array and fields are read directly, else null. */
const struct numpy_array *numpy_fields(PyObject *object);

/* Returns the element type of an array; DTYPE_UNKNOWN for one that inlay does not know or of other byte order. */
enum dtype numpy_dtype(const struct numpy_array *array);

/* Returns whether elements may be written. */
bool numpy_writable(const struct numpy_array *array);

/* Returns a new contiguous array. With `owner` it has the memory at `data`, and holds a reference to `owner`, which
   exports it by the buffer protocol; else it has memory of its own, at *data afterwards. Null with an exception. */
PyObject *numpy_array_new(enum dtype dtype, int dims, const Py_ssize_t *shape, void **data, PyObject *owner);
