/* SPDX-License-Identifier: MIT */
/*
 * The _core.File type: an open model. inlay.File adds the mappings of tensors and metadata.
 */
#pragma once

#include "abi.h"

/* Adds the type to the module. Returns -1 with an exception set on failure. */
int file_init(PyObject *module);
