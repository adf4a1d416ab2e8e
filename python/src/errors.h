/* SPDX-License-Identifier: MIT */
/*
 * What a status of the library becomes in Python: IndexError for ids, positions and segments, MemoryError, ValueError
 * for the rest, with the value and its place.
 */
#ifndef INLAY_PYTHON_ERRORS_H
#define INLAY_PYTHON_ERRORS_H

#include "abi.h"

#include <inlay/inlay.h>

/* Sets the exception of a status other than INLAY_OK that has no place. Returns null. */
PyObject *raise_status(inlay_status status);

/* Sets IndexError of the form "id 7 at [0, 3] is not in the table". Returns null.

   `index` is that of the element in an array of `dims` dimensions `shape`; `where` names what it is not in. */
PyObject *raise_index(const char *what, int64_t value, size_t index, int dims, const Py_ssize_t *shape,
                      const char *where);

#endif
