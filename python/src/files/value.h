/* SPDX-License-Identifier: MIT */
/*
 * Metadata of files and specs of n-grams as Python objects that don't reference the file.
 */
#pragma once

#include "abi.h"

#include <inlay/file.h>

/* Returns a str, int, float or bool, or a tuple of str, int or float. Returns null with an exception. */
PyObject *file_value(const inlay_file_value *value);

/* Returns the fields of a spec as a dict. Arrays are bytes or None. Returns null with an exception. */
PyObject *file_ngram_spec(const inlay_ngram_spec *spec);
