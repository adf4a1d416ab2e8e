/* SPDX-License-Identifier: MIT */
/*
 * What an error of libinlay-file becomes in Python: OSError with errno, MemoryError, and inlay.FileError, which is a
 * ValueError, for files that are not what they should be.
 */
#pragma once

#include "abi.h"

#include <inlay/file.h>

/* Sets the exception of an error of a file. Returns null. */
PyObject *raise_file_error(const inlay_file_error *error);

/* Does the same for a name that somebody asked for: one that is not there is KeyError. */
PyObject *raise_name_error(const inlay_file_error *error);

/* Adds FileError to the module. Returns -1 with an exception. */
int file_errors_init(PyObject *module);
