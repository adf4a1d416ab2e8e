/* SPDX-License-Identifier: MIT */
/*
 * What a status of the library becomes in Python: IndexError for ids, positions and segments, MemoryError, ValueError
 * for the rest, with the value and its place.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* The most dimensions of an array whose elements messages name. */
enum { VIEW_DIMS = 8 };

/* The most bytes of a text of index_text() and fault_text(). */
enum { ERROR_TEXT_BYTES = 320 };

/* Writes a text of the form "id 7 at [0, 3] is not in the table". Needs no GIL.

   `index` is that of the element in an array of `dims` dimensions `shape`; `where` names what it is not in. */
void index_text(char text[ERROR_TEXT_BYTES], const char *what, int64_t value, size_t index, int dims,
                const Py_ssize_t *shape, const char *where);

/* Returns whether a status comes with a fault that names an id, a position or a segment. */
bool status_names_index(inlay_status status);

/* Returns the index in ids of the token at a fault of a call whose sequences have `length` tokens, or lie between
   `offsets`, which may be null. */
size_t token_at(const int64_t *offsets, size_t length, const inlay_fault *fault);

/* Writes such a text for a call of a layer that failed with such a status. `shape` is that of ids; positions are a
   table if `learned`. Needs no GIL. */
void fault_text(char text[ERROR_TEXT_BYTES], inlay_status status, const inlay_batch *batch, const inlay_fault *fault,
                int dims, const Py_ssize_t *shape, bool learned);

/* Sets an exception as PyErr_Format() does. Returns -1. */
int raise_error(PyObject *type, const char *format, ...);

/* Sets MemoryError. Returns -1. */
int raise_memory(void);

/* Raises a new exception, which it releases; null is one that is raised already. Returns -1. */
int raise_object(PyObject *exception);

/* Sets the exception of a status other than INLAY_OK that has no place. Returns null. */
PyObject *raise_status(inlay_status status);

/* Does the same for a call of `tokens` tokens, which names offsets and overlaps. */
PyObject *raise_call(inlay_status status, const inlay_fault *fault, size_t tokens, bool padded);

/* Sets IndexError with the text of index_text(). Returns null. */
PyObject *raise_index(const char *what, int64_t value, size_t index, int dims, const Py_ssize_t *shape,
                      const char *where);
