/* SPDX-License-Identifier: MIT */
/*
 * The inlay.FileTensor type: memory of a model file as a read-only array that keeps the file open.
 */
#pragma once

#include "abi.h"
#include "arrays/dtype.h"
#include "files/open_file.h"

/* Returns the array of a tensor, or null with an exception set. */
PyObject *file_tensor_of(struct open_file *file, const inlay_file_tensor *tensor);

/* Returns an array of other memory of a file, such as scales that were converted. */
PyObject *file_tensor_of_memory(struct open_file *file, const void *data, enum dtype dtype, int dims,
                                const Py_ssize_t *shape);

/* Returns an array of the bytes of rows, without the padding between them. */
PyObject *file_tensor_of_rows(struct open_file *file, const void *data, size_t rows, size_t row_bytes,
                              size_t stride_bytes);

/* Returns the file of a FileTensor, borrowed, or null for other objects. */
struct open_file *file_tensor_file(PyObject *object);

/* Adds the type to the module. Returns -1 with an exception set on failure. */
int file_tensor_init(PyObject *module);
