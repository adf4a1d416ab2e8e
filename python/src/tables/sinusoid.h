/* SPDX-License-Identifier: MIT */
/*
 * The type _core.Formula: a sinusoid of one dim, as the library makes it; and the tables that it writes. The classes
 * and functions that users see are in the package's Python files.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

/* Returns the sinusoid that an object is, or null with TypeError; it is valid as long as the object. */
const inlay_sinusoid *sinusoid_handle(PyObject *object);

/* sinusoid_rows(formula, positions, dtype, out), rotary_rows(formula, positions, dtype, layout) and
   rotary_frequencies(...): functions of the module. */
PyObject *sinusoid_rows(PyObject *module, PyObject *args);
PyObject *sinusoid_rotary_rows(PyObject *module, PyObject *args);
PyObject *sinusoid_rotary_frequencies(PyObject *module, PyObject *args, PyObject *options);

/* Adds the type to the module. Returns -1 with an exception. */
int sinusoid_init(PyObject *module);
