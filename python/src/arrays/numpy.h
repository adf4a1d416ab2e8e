/* SPDX-License-Identifier: MIT */
/*
 * NumPy without its headers: the fields of an array, unchanged across versions, and two functions of its C API. They
 * are used only after numpy_use() has read the expected fields from a known array.
 */
#pragma once

#include "abi.h"
#include "arrays/dtype.h"

#include <stdbool.h>

/* The first fields of an array, with Py_ssize_t for npy_intp. */
struct numpy_array {
    PyObject base;
    char *data;
    int dims;
    Py_ssize_t *shape, *stride_bytes;
    PyObject *owner;
    PyObject *descriptor;
    int flags;
};

/* Sets the NumPy module, or None if it isn't installed. With `direct`, fields of arrays are read without calling NumPy
   if the probe succeeds. Returns -1 with an exception set on failure. */
int numpy_use(PyObject *module, bool direct);

/* Returns true if the fields of arrays are read directly. */
bool numpy_is_direct(void);

/* Returns true if numpy_array_new() can make arrays that own their memory. */
bool numpy_makes_arrays(void);

/* Returns a borrowed reference to NumPy. If it isn't installed, returns null with TypeError set: `what` needs NumPy. */
PyObject *numpy_module(const char *what);

/* Returns true if NumPy is installed. */
bool numpy_exists(void);

/* Returns the fields of an object if it is an array and fields are read directly, else null. */
const struct numpy_array *numpy_fields(PyObject *object);

/* Returns the element type of an array, or DTYPE_UNKNOWN for other types or big-endian elements. */
enum dtype numpy_dtype(const struct numpy_array *array);

/* Returns true if the array is writable. */
bool numpy_writable(const struct numpy_array *array);

/* Returns a new contiguous array, or null with an exception set. With `owner`, the array uses the memory at *data and
   holds a reference to `owner`, which must export that memory by the buffer protocol. Otherwise it owns its memory, and
   *data is set. */
PyObject *numpy_array_new(enum dtype dtype, int dims, const Py_ssize_t *shape, void **data, PyObject *owner);
