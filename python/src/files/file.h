/* SPDX-License-Identifier: MIT */
/*
 * The type _core.File: an open model. inlay.File adds the mappings of tensors and metadata.
 */
#ifndef INLAY_PYTHON_FILES_FILE_H
#define INLAY_PYTHON_FILES_FILE_H

#include "abi.h"

/* Adds the type to the module. Returns -1 with an exception. */
int file_init(PyObject *module);

#endif
