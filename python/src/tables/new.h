/* SPDX-License-Identifier: MIT */
/*
 * New tables: the functions quantize() and random() of the module.
 */
#pragma once

#include "abi.h"

/* quantize(table, type, group, zeros): a Table. */
PyObject *table_quantize(PyObject *module, PyObject *args);

/* random(rows, dim, kind, mean, std, low, high, seed, offset, first_row, zero_row, out): an array of float32. */
PyObject *table_random(PyObject *module, PyObject *args);
