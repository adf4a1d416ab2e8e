/* SPDX-License-Identifier: MIT */
/*
 * The type inlay.Table: a view of an embedding table in arrays of the caller's, which it keeps alive.
 */
#pragma once

#include "arrays/dtype.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* Where a type has scales outside of its rows. */
enum table_scales {
    SCALES_NONE,
    SCALES_PER_ROW,   /* float32 [rows] */
    SCALES_PER_GROUP, /* float32 [rows, dim / group] */
    SCALES_PER_BLOCK, /* uint8 [rows, dim / 32] */
    SCALES_PER_HALF,  /* float32 [rows, dim / 16] */
};

struct open_file;

/* What lies beside the rows of a type; nothing, unless the type is named in table_format(). */
struct table_format {
    enum table_scales scales;
    bool optional; /* there may be no scales: they are 1 */
};

/* Returns the format of a type. */
const struct table_format *table_format(inlay_element_type type);

/* Fills in the shape of the array of scales of a type. Returns its dimensions; 0: there is no such array. */
int table_scales_shape(inlay_element_type type, size_t rows, size_t dim, size_t group, Py_ssize_t shape[2]);

/* Fills in the shape of the zero points of a grouped type, whose scales have shape `scales`. Returns its dimensions,
   and sets the type of its elements. */
int table_zeros_shape(inlay_element_type type, const Py_ssize_t scales[2], Py_ssize_t shape[2], enum dtype *dtype);

/* Requires whole blocks of a type in rows of `dim` columns. Returns -1 with ValueError. */
int table_check_dim(const char *what, inlay_element_type type, size_t dim);

/* Reads how many columns of `dim` share a scale of a grouped type. Returns -1 with an exception. */
int table_group(PyObject *group, size_t dim, uint32_t *columns);

/* Makes a Table of a new dictionary with the arguments of Table(), which it releases, or null with an exception; a
   dictionary that is null is one. `what` names the data; the error is that of quantising, or below 0. */
PyObject *table_make(PyObject *options, const char *what, double largest_error);

/* Returns the Table that an object is, or a new one of an array, or null with an exception. `what` names the
   argument. */
PyObject *table_from(PyObject *object, const char *what);

/* Makes a Table whose rows are those of a sequence of Tables or arrays, one behind the other, or null with an
   exception. */
PyObject *table_of_parts(PyObject *sequence);

/* Returns the view that a Table has; it is valid as long as the Table. */
const inlay_table *table_view(PyObject *table);

/* Returns whether an object is a Table. */
bool table_is(PyObject *object);

/* Returns the factor of all rows, which the view does not have. */
float table_scale(PyObject *table);

/* Returns the open file that rows of a Table come from, borrowed, or null if they are in memory. */
struct open_file *table_file(PyObject *self);

/* Adds the type to the module. Returns -1 with an exception. */
int table_init(PyObject *module);
