/* SPDX-License-Identifier: MIT */
/*
 * Helpers for types, lists, tuples, and calls of Python functions.
 */
#pragma once

#include "abi.h"

/* Makes a type with objects of `bytes` bytes and adds it to the module under the last part of `name`. Returns -1 with
   an exception set on failure. */
int type_add(PyObject *module, PyTypeObject **type, const char *name, size_t bytes, unsigned long flags,
             PyType_Slot *slots);

/* Calls a function of a Python module. Py_BuildValue() must turn `format` into a tuple of arguments. Returns the
   result, or null with an exception set. */
PyObject *python_call(const char *module, const char *function, const char *format, ...);

/* Frees an object after its fields were released, and its reference to its type. */
void object_free(PyObject *self);

/* Puts an item into a new list or tuple and steals the reference. If either is null, releases both and sets *sequence
   to null. */
void sequence_put(PyObject **sequence, size_t i, PyObject *item);
