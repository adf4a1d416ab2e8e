/* SPDX-License-Identifier: MIT */
/*
 * What the types of the package share, and how lists and tuples are filled.
 */
#ifndef INLAY_PYTHON_MODULE_OBJECTS_H
#define INLAY_PYTHON_MODULE_OBJECTS_H

#include "abi.h"

/* Makes a type whose objects have `bytes` bytes, and adds it to the module under the last part of `name`. Returns -1
   with an exception. */
int type_add(PyObject *module, PyTypeObject **type, const char *name, size_t bytes, unsigned long flags,
             PyType_Slot *slots);

/* Frees an object whose own fields were released, and its reference to its type. */
void object_free(PyObject *self);

/* Puts a new item into a new list or tuple. If the item is null, which is an exception, or there is no sequence any
   more, both are released, and *sequence is null. */
void sequence_put(PyObject **sequence, size_t i, PyObject *item);

#endif
