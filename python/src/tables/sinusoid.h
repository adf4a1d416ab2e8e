/* SPDX-License-Identifier: MIT */
/*
 * The _core.Formula type, a sinusoid of one dim, and the tables that it writes. The public classes and functions are in
 * inlay/positions.py.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

/* Returns the sinusoid of a Formula, valid as long as the Formula, or null with TypeError set. */
const inlay_sinusoid *sinusoid_handle(PyObject *object);

/* sinusoid_rows(formula, positions, dtype, out), rotary_rows(formula, positions, dtype, layout) and
   rotary_frequencies(...): functions of the module. */
PyObject *sinusoid_rows(PyObject *module, PyObject *args);
PyObject *sinusoid_rotary_rows(PyObject *module, PyObject *args);
PyObject *sinusoid_rotary_frequencies(PyObject *module, PyObject *args, PyObject *options);

/* Adds the type to the module. Returns -1 with an exception set on failure. */
int sinusoid_init(PyObject *module);
