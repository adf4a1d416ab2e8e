/* SPDX-License-Identifier: MIT */
/*
 * The inlay.Layer type. A layer keeps its tables alive, and may be called from any number of threads.
 */
#pragma once

#include "abi.h"
#include "files/open_file.h"

/* Makes the input layer of the model in a file, with the type of the outputs set in the options. Returns null with an
   exception set on failure. */
PyObject *layer_of_file(struct open_file *file, inlay_file_layer_options *options, PyObject *dtype, PyObject *threads);

/* Adds the type to the module. Returns -1 with an exception set on failure. */
int layer_init(PyObject *module);
