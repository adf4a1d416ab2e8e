/* SPDX-License-Identifier: MIT */
/*
 * The inlay.Table type: a view of an embedding table in the caller's arrays. A Table keeps those arrays alive.
 */
#pragma once

#include "arrays/dtype.h"

#include <inlay/inlay.h>

#include <stdbool.h>

struct open_file;

/* Sets the shape and type of the scales of a type. Returns the number of dimensions; 0: the type has none. */
int table_scales_shape(inlay_element_type type, size_t rows, size_t dim, uint32_t group, Py_ssize_t shape[2],
                       enum dtype *dtype);

/* Sets the shape and type of the zero points of a type. Returns the number of dimensions; 0: the type has none. */
int table_zeros_shape(inlay_element_type type, size_t rows, size_t dim, uint32_t group, Py_ssize_t shape[2],
                      enum dtype *dtype);

/* Checks that `dim` is a multiple of a type's block size. Returns -1 with ValueError set on failure. */
int table_check_dim(const char *what, inlay_element_type type, size_t dim);

/* Reads `group`, the number of columns per scale of a type. Returns -1 with an exception set on failure. */
int table_group(PyObject *group, inlay_element_type type, uint32_t *columns);

/* Makes a Table from a dict with the arguments of Table(). Steals the dict. If it is null, an exception must already be
   set. `what` names the data in errors. A negative largest_error means that the error is unknown. Returns null with an
   exception set on failure. */
PyObject *table_make(PyObject *options, const char *what, double largest_error);

/* Returns the object if it is a Table, or a new Table of an array. `what` names the argument in errors. Returns null
   with an exception set on failure. */
PyObject *table_from(PyObject *object, const char *what);

/* Makes a Table that concatenates the rows of several Tables or arrays. Returns null with an exception set on failure.
 */
PyObject *table_of_parts(PyObject *sequence);

/* Returns the view of a Table, valid as long as the Table. */
const inlay_table *table_view(PyObject *table);

/* Returns true for a Table. */
bool table_is(PyObject *object);

/* Returns the factor of all rows, which isn't part of the view. */
float table_scale(PyObject *table);

/* Returns the open file with the rows of a Table, without adding a user. Returns null if the rows are in memory. */
struct open_file *table_file(PyObject *self);

/* Adds the type to the module. Returns -1 with an exception set on failure. */
int table_init(PyObject *module);
