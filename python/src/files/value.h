/* SPDX-License-Identifier: MIT */
/*
 * Metadata of files and specs of n-grams as objects of Python, which keep nothing of the file.
 */
#pragma once

#include "abi.h"

#include <inlay/file.h>

/* Returns a string, int, float or bool, or a tuple of the first three; null with an exception. */
PyObject *file_value(const inlay_file_value *value);

/* Returns the fields of a spec as a mapping, null with an exception. Arrays are their bytes, or None. */
PyObject *file_ngram_spec(const inlay_ngram_spec *spec);
