/* SPDX-License-Identifier: MIT */
/*
 * Makes new tables: the module's functions quantize() and random().
 */
#pragma once

#include "abi.h"

/* quantize(table, type, group, zeros): returns a Table. */
PyObject *table_quantize(PyObject *module, PyObject *args);

/* random(rows, dim, kind, mean, std, low, high, seed, offset, first_row, zero_row, out): returns a float32 array. */
PyObject *table_random(PyObject *module, PyObject *args);
