/* SPDX-License-Identifier: MIT */
/*
 * A view of the memory of any array: a NumPy array, a DLPack tensor, an object with the buffer protocol, or a list
 * (through NumPy). A view keeps its memory alive until view_release().
 */
#pragma once

#include "abi.h"
#include "arrays/dlpack.h"
#include "arrays/dtype.h"
#include "module/errors.h"

#include <stdbool.h>
#include <string.h>

/* How an array exports its memory. Results are made the same way. */
enum view_way { VIEW_NUMPY, VIEW_BUFFER, VIEW_DLPACK };

struct view {
    char *data;
    enum dtype dtype;
    enum view_way way;
    int dims;
    bool writable;
    PyObject *owner;   /* array or capsule that owns the memory */
    Py_buffer *buffer; /* buffer to release, or null */
    void *copy;        /* packed copy of the elements, or null */
    Py_ssize_t shape[VIEW_DIMS], stride_bytes[VIEW_DIMS];
};

/* Makes a view of an object. `what` names the argument in errors. Lists and numbers become NumPy arrays of type
   `wanted` unless that is DTYPE_UNKNOWN. On error, returns -1 with TypeError or ValueError set and leaves nothing to
   release. */
int view_of(struct view *view, PyObject *object, const char *what, enum dtype wanted);

/* Makes a view of an array that is read in place while the view lives, so later changes take effect. Requires a type, a
   shape and contiguous elements, and sets *data. Where bytes are required, the type float8_e8m0fnu is accepted too.
   Does nothing for None. Returns -1 with an exception set on failure. Release the view even on failure. */
int view_keep(struct view *view, PyObject *object, const char *what, enum dtype dtype, int dims,
              const Py_ssize_t *shape, const void **data);

/* Like view_of(), for the duration of a call. The view only holds a reference to the object, which must keep its memory
   alive. */
int view_borrow(struct view *view, PyObject *object, const char *what, enum dtype wanted);

/* Returns the exchange functions of an object's framework, or null without an exception if it has none. */
const struct dlpack_exchange *view_exchange(PyObject *object);

/* Releases the memory of a view. Does nothing for a view of zeros. */
void view_release(struct view *view);

/* Returns the number of elements. */
size_t view_count(const struct view *view);

/* Returns an element of a contiguous view of int64. Needs no alignment. */
static inline int64_t view_int64_at(const struct view *view, size_t i)
{
    int64_t number;
    memcpy(&number, view->data + i * sizeof number, sizeof number);
    return number;
}

/* Returns true if elements are contiguous in row-major order. */
bool view_is_contiguous(const struct view *view);

/* Makes the view contiguous and of type `dtype`, by a copy if necessary. Converts only integers; uint64 saturates in
   int64. Returns -1 with MemoryError set on failure. */
int view_pack(struct view *view, enum dtype dtype);

/* Makes the view contiguous and of type uint32, by a copy if necessary. On failure, returns -1 and sets TypeError,
   MemoryError, or ValueError for a number that doesn't fit. */
int view_pack_u32(struct view *view, const char *what);

/* Broadcasts a view like NumPy, without a copy. Returns -1 with ValueError set on failure. */
int view_broadcast(struct view *view, const char *what, int dims, const Py_ssize_t *shape);

/* Sets TypeError for elements of the wrong type. Its message names the expected types and explains how to convert to
   `dtype`. Returns -1. */
int view_wrong_dtype(const struct view *view, const char *what, const char *expected, enum dtype dtype);

/* Requires the type of a view. Returns -1 with TypeError set on failure. */
int view_require_dtype(const struct view *view, const char *what, enum dtype dtype);

/* Requires the shape of a view. Returns -1 with ValueError set on failure. */
int view_require_shape(const struct view *view, const char *what, int dims, const Py_ssize_t *shape);

/* Requires contiguous elements. Returns -1 with ValueError set on failure. */
int view_require_contiguous(const struct view *view, const char *what);

/* Requires integers and makes them contiguous ids. They keep their type if the library supports it; otherwise they
   become int64. Returns the type, or 0 with an exception set. */
inlay_id_type view_ids(struct view *view, const char *what);

/* Borrows ids that broadcast to `shape` for the duration of a call. Sets *data and *type, or *type to 0 if there are no
   elements. Returns -1 with an exception set on failure. */
int view_borrow_ids(struct view *view, PyObject *array, const char *what, int dims, const Py_ssize_t *shape,
                    const void **data, inlay_id_type *type);

/* Borrows offsets [sequences + 1] as int64 for the duration of a call. If `ids` isn't null, requires that it has one
   dimension. Returns -1 with an exception set on failure. */
int view_borrow_offsets(struct view *view, PyObject *offsets, const struct view *ids);

/* Requires a writable array of a type and a shape. Returns -1 with TypeError or ValueError. */
int view_require_out(const struct view *view, enum dtype dtype, int dims, const Py_ssize_t *shape);

/* Requires contiguous rows at a constant stride, and sets the stride. Returns -1 with ValueError set on failure. */
int view_row_stride(const struct view *view, size_t *stride_bytes);

/* Returns a new string such as "[2, 3]". */
PyObject *shape_text(int dims, const Py_ssize_t *shape);
