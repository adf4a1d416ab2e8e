/* SPDX-License-Identifier: MIT */
/*
 * The type _core.File: an open model. inlay.File adds the mappings of tensors and metadata.
 */
#pragma once

#include "abi.h"

/* Adds the type to the module. Returns -1 with an exception. */
int file_init(PyObject *module);
