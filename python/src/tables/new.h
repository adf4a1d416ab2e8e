/* SPDX-License-Identifier: MIT */
/*
 * New tables: the functions quantize() and random() of the module.
 */
#ifndef INLAY_PYTHON_TABLES_NEW_H
#define INLAY_PYTHON_TABLES_NEW_H

#include "abi.h"

/* quantize(table, type, *, group, zeros): a Table. */
PyObject *table_quantize(PyObject *module, PyObject *args, PyObject *options);

/* random(rows, dim, ...): an array of float32. */
PyObject *table_random(PyObject *module, PyObject *args, PyObject *options);

#endif
