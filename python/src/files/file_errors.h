/* SPDX-License-Identifier: MIT */
/*
 * Errors of libinlay-file in Python: OSError with errno, MemoryError, or inlay.FileError (a ValueError) for an invalid
 * file.
 */
#pragma once

#include "abi.h"

#include <inlay/file.h>

/* Sets the exception for an error of libinlay-file. Returns null. */
PyObject *raise_file_error(const inlay_file_error *error);

/* Adds FileError to the module. Returns -1 with an exception set on failure. */
int file_errors_init(PyObject *module);
