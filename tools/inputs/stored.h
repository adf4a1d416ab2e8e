/* SPDX-License-Identifier: MIT */
/*
 * Tables in .npy files. The elements of a table lie in NAME.npy; scales and zero points that its type keeps in arrays
 * of their own lie beside it, in NAME.scales.npy and NAME.zeros.npy. This part says which arrays a type has; it must
 * not open files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "formats/npy.h"

/** Returns the type of the elements of a table's file. Types that NumPy lacks are bytes, and bfloat16 is '<u2'. */
enum npy_element stored_element(inlay_element_type type);

/** The arrays of a table. */
enum { ARRAY_DATA, ARRAY_SCALES, ARRAY_ZEROS, ARRAYS };

/** An array of a table. */
struct array {
    enum npy_element element;
    size_t rank;     /**< 0: there is no such array */
    size_t shape[2]; /**< of rank 1, the second is 1 */
    bool optional;   /**< the type can do without it */
};

/** Returns the array of a table that `which` names: its elements, [rows, dim] or of types that NumPy lacks [rows, bytes
    of a row]; its scales or zero points. `group` is that of an inlay_table. */
struct array stored_array(int which, inlay_element_type type, size_t rows, size_t dim, uint32_t group);

/** Returns the bytes of an array, which fit in size_t if those of the table's float32 do. */
size_t array_bytes(const struct array *array);

/** Returns whether a type has one scale for each `group` columns, which the caller chooses. */
bool stored_in_groups(inlay_element_type type);

/** Returns the dim of rows of so many elements as stored_array() has them; 0: no row has as many. Where two dims have
    rows of the same bytes, it is the even one. */
size_t stored_dim(inlay_element_type type, size_t row_elements);

/** What the arrays but the first are called, such as "scales". */
extern const char *const stored_names[ARRAYS];

/** The bytes of the longest path that a system call takes, and of what a name beside it has more. */
enum { BESIDE_BYTES = 4096 + 16 };

/** Writes NAME.scales.npy or NAME.zeros.npy for the path NAME.npy. */
void stored_beside(const char *path, int which, char name[BESIDE_BYTES]);
