/* SPDX-License-Identifier: MIT */
/*
 * Tables in .npy files. NAME.npy has the elements. Types with separate scales and zero points have these in
 * NAME.scales.npy and NAME.zeros.npy, in the same directory. This part defines the arrays of each type; it must not
 * open files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "formats/npy.h"

/** Returns the type of the elements of a table's file. Types that NumPy lacks are stored as bytes, except bfloat16,
    which is '<u2'. */
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
    bytes per row] for types that NumPy lacks. `group` is that of an inlay_table. */
struct array stored_array(int which, inlay_element_type type, size_t rows, size_t dim, uint32_t group);

/** Returns the size of an array in bytes. It fits in size_t if the table's size in float32 does. */
size_t array_bytes(const struct array *array);

/** Returns true if a type has one scale per `group` columns, with a group chosen by the caller. */
bool stored_in_groups(inlay_element_type type);

/** Returns the dim of rows with this many elements, as in stored_array(), or 0 if there is none. If two dims give rows
    of the same size, returns the even one. */
size_t stored_dim(inlay_element_type type, size_t row_elements);

/** Names of the arrays except the first, e.g. "scales". */
extern const char *const stored_names[ARRAYS];

/** The longest path of a system call, plus the longest added suffix. */
enum { COMPANION_BYTES = 4096 + 16 };

/** Writes NAME.scales.npy or NAME.zeros.npy for a path NAME.npy. */
void companion_path(const char *path, int which, char name[COMPANION_BYTES]);
