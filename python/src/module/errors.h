/* SPDX-License-Identifier: MIT */
/*
 * The library's errors as Python exceptions, with the value and its index: IndexError for ids, positions and segments,
 * MemoryError, or ValueError.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* Maximum number of dimensions of an array. */
enum { VIEW_DIMS = 8 };

/* Size of a text of index_text() or fault_text(). */
enum { ERROR_TEXT_BYTES = 320 };

/* Writes a text like "id 7 at [0, 3] is not in the table". `index` is the element's row-major index in an array of
   `shape`; `where` is "the table". Needs no GIL. */
void index_text(char text[ERROR_TEXT_BYTES], const char *what, int64_t value, size_t index, int dims,
                const Py_ssize_t *shape, const char *where);

/* Returns true if the fault of a status names an id, a position or a segment. */
bool status_names_index(inlay_status status);

/* Returns the index in ids of the token at a fault. `offsets` gives the sequences. If it is null, each sequence has
   `length` tokens. */
size_t token_at(const int64_t *offsets, size_t length, const inlay_fault *fault);

/* Writes the text for the fault of a layer's call. `shape` is the shape of ids; `learned` is true if positions are a
   table. Needs no GIL. */
void fault_text(char text[ERROR_TEXT_BYTES], inlay_status status, const inlay_batch *batch, const inlay_fault *fault,
                int dims, const Py_ssize_t *shape, bool learned);

/* Sets an exception like PyErr_Format(). Returns -1. */
int raise_error(PyObject *type, const char *format, ...);

/* Sets MemoryError. Returns -1. */
int raise_memory(void);

/* Raises an exception and steals the reference. If it is null, an exception must already be set. Returns -1. */
int raise_object(PyObject *exception);

/* Sets the exception of an error without an index. Returns null. */
PyObject *raise_status(inlay_status status);

/* Sets the exception of an error about an argument. The message has the fault's field and reason. Returns null. */
PyObject *raise_fault(inlay_status status, const inlay_fault *fault);

/* Does the same for a call with `tokens` tokens, and adds details about offsets and overlaps. */
PyObject *raise_call(inlay_status status, const inlay_fault *fault, size_t tokens, bool padded);

/* Sets IndexError with the text of index_text(). Returns null. */
PyObject *raise_index(const char *what, int64_t value, size_t index, int dims, const Py_ssize_t *shape,
                      const char *where);
