/* SPDX-License-Identifier: MIT */
/*
 * What the types of the package share, how lists and tuples are filled, and calls of Python's functions.
 */
#pragma once

#include "abi.h"

/* Makes a type whose objects have `bytes` bytes, and adds it to the module under the last part of `name`. Returns -1
   with an exception. */
int type_add(PyObject *module, PyTypeObject **type, const char *name, size_t bytes, unsigned long flags,
             PyType_Slot *slots);

/* Calls a function of a Python module with the arguments that `format` makes, as Py_BuildValue() does: a tuple. Returns
   its result, or null with an exception. */
PyObject *python_call(const char *module, const char *function, const char *format, ...);

/* Frees an object whose own fields were released, and its reference to its type. */
void object_free(PyObject *self);

/* Puts a new item into a new list or tuple. If the item is null, which is an exception, or there is no sequence any
   more, both are released, and *sequence is null. */
void sequence_put(PyObject **sequence, size_t i, PyObject *item);
