/* SPDX-License-Identifier: MIT */
/*
 * The type inlay.Table: a view of an embedding table in arrays of the caller's, which it keeps alive.
 */
#ifndef INLAY_PYTHON_TABLE_H
#define INLAY_PYTHON_TABLE_H

#include "abi.h"

#include <inlay/inlay.h>

/* Returns the Table that an object is, or a new one of an array, or null with an exception. `what` names the
   argument. */
PyObject *table_from(PyObject *object, const char *what);

/* Returns the view that a Table has; it is valid as long as the Table. */
const inlay_table *table_view(PyObject *table);

/* quantize(table, type, *, group, zeros) and random(rows, dim, ...): functions of the module. */
PyObject *table_quantize(PyObject *module, PyObject *args, PyObject *options);
PyObject *table_random(PyObject *module, PyObject *args, PyObject *options);

/* Adds the type to the module. Returns -1 with an exception. */
int table_init(PyObject *module);

#endif
