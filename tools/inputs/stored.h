/* SPDX-License-Identifier: MIT */
/*
 * Tables in .npy files. NAME.npy has the elements. Separate scales and zero points are in NAME.scales.npy and
 * NAME.zeros.npy, in the same directory. This part defines the arrays of each type. It must not open files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "formats/npy.h"

/** Returns the element type of the file NAME.npy. Types that NumPy lacks are stored as bytes, except bfloat16, which is
    stored as '<u2'. */
enum npy_element stored_element(inlay_element_type type);

/** The arrays of a table. */
enum { ARRAY_DATA, ARRAY_SCALES, ARRAY_ZEROS, ARRAYS };

/** An array of a table. */
struct array {
    enum npy_element element;
    size_t rank;     /**< 0: absent */
    size_t shape[2]; /**< for rank 1, shape[1] is 1 */
    bool optional;   /**< the type doesn't require it */
};

/** Returns array `which` of a table: its elements, its scales or its zero points. Elements are [rows, dim], or [rows,
    bytes per row] for types that NumPy lacks. `group` is as in inlay_table. */
struct array stored_array(int which, inlay_element_type type, size_t rows, size_t dim, uint32_t group);

/** Returns the size of an array in bytes. The result fits in size_t if a float32 table of the same shape does. */
size_t array_bytes(const struct array *array);

/** Returns the dim of a row that has this many elements in stored_array(), or 0 if no dim matches. If two dims match,
    returns the even one. */
size_t stored_dim(inlay_element_type type, size_t row_elements);

/** Names of the arrays except the first, e.g. "scales". */
extern const char *const stored_names[ARRAYS];

/** Size of a buffer for the longest path of a system call plus the longest suffix. */
enum { COMPANION_BYTES = 4096 + 16 };

/** Writes NAME.scales.npy or NAME.zeros.npy for a path NAME.npy. */
void companion_path(const char *path, int which, char name[COMPANION_BYTES]);
