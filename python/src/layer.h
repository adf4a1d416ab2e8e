/* SPDX-License-Identifier: MIT */
/*
 * The type inlay.Layer. A layer is immutable once it is made, keeps its tables alive, and may be called from any number
 * of threads.
 */
#ifndef INLAY_PYTHON_LAYER_H
#define INLAY_PYTHON_LAYER_H

#include "abi.h"

/* Adds the type to the module. Returns -1 with an exception. */
int layer_init(PyObject *module);

#endif
