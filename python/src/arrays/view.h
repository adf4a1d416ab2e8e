/* SPDX-License-Identifier: MIT */
/*
 * A view of the memory of any array: NumPy's, a tensor that speaks DLPack, an object with the buffer protocol, or a
 * list (through NumPy). A view keeps its memory alive until view_release().
 */
#pragma once

#include "abi.h"
#include "arrays/dlpack.h"
#include "arrays/dtype.h"
#include "module/errors.h"

#include <stdbool.h>
#include <string.h>

/* How an array gave its memory, which is also how a result like it is made. */
enum view_way { VIEW_NUMPY, VIEW_BUFFER, VIEW_DLPACK };

struct view {
    char *data;
    enum dtype dtype;
    enum view_way way;
    int dims;
    bool writable;
    PyObject *owner;   /* an array or capsule that owns the memory */
    Py_buffer *buffer; /* null, or the buffer to release */
    void *copy;        /* null, or memory of our own that replaced the array's */
    Py_ssize_t shape[VIEW_DIMS], stride_bytes[VIEW_DIMS];
};

/* Fills in the view of an object. `what` names the argument in errors. Lists and numbers become arrays of NumPy; of the
   type `wanted` unless that is DTYPE_UNKNOWN. Returns -1 with TypeError or ValueError, and then there is nothing to
   release. */
int view_of(struct view *view, PyObject *object, const char *what, enum dtype wanted);

/* Fills in the view of an array that is read where it is as long as the view lives, so that changes are seen: it must
   have a type, a shape and elements one after the other, which *data then has the address of. Bytes that are powers of
   two may have the type of PyTorch for them. None is no array, and changes nothing. Returns -1 with an exception; the
   view is to be released in any case. */
int view_keep(struct view *view, PyObject *object, const char *what, enum dtype dtype, int dims,
              const Py_ssize_t *shape, const void **data);

/* Does the same as view_of() for the time of a call: the view holds the object alone, which must not get other memory
 * meanwhile. */
int view_borrow(struct view *view, PyObject *object, const char *what, enum dtype wanted);

/* Returns the exchange functions of an object's framework, or null, without an exception, where there are none. */
const struct dlpack_exchange *view_exchange(PyObject *object);

/* Releases what the view holds. A view of zeros holds nothing. */
void view_release(struct view *view);

/* Returns the number of elements. */
size_t view_count(const struct view *view);

/* Returns an element of a contiguous view of int64, which need not be aligned. */
static inline int64_t view_int64_at(const struct view *view, size_t i)
{
    int64_t number;
    memcpy(&number, view->data + i * sizeof number, sizeof number);
    return number;
}

/* Returns whether elements lie one after the other in row-major order. */
bool view_is_contiguous(const struct view *view);

/* Makes the view contiguous and of type `dtype`, by a copy where it is not. Only integers change their type; numbers
   that int64 cannot hold become its largest. Returns -1 with MemoryError. */
int view_pack(struct view *view, enum dtype dtype);

/* Makes the view contiguous and of uint32, by a copy where its integers have another size or sign. Returns -1 with
   TypeError, MemoryError, or ValueError for a number that uint32 cannot hold. */
int view_pack_u32(struct view *view, const char *what);

/* Spreads a view over a larger shape as NumPy broadcasts: without a copy. Returns -1 with ValueError. */
int view_broadcast(struct view *view, const char *what, int dims, const Py_ssize_t *shape);

/* Sets TypeError for elements of a wrong type, which names what is expected and how to convert them to `dtype`. Returns
   -1. */
int view_wrong_dtype(const struct view *view, const char *what, const char *expected, enum dtype dtype);

/* Requires the type of a view. Returns -1 with TypeError. */
int view_require_dtype(const struct view *view, const char *what, enum dtype dtype);

/* Requires the shape of a view. Returns -1 with ValueError. */
int view_require_shape(const struct view *view, const char *what, int dims, const Py_ssize_t *shape);

/* Requires elements one after the other: what a layer keeps is read where it is, so that changes are seen. Returns -1
   with ValueError. */
int view_require_contiguous(const struct view *view, const char *what);

/* Requires integers, as the ids of inlay where it has that type, else as int64, and contiguous. Returns their type, or
   0 with an exception. */
inlay_id_type view_ids(struct view *view, const char *what);

/* Borrows the offsets [sequences + 1] that cut `ids` into sequences, as int64, for the time of a call. Returns -1 with
   an exception. */
int view_borrow_offsets(struct view *view, PyObject *offsets, const struct view *ids);

/* Requires that rows of `shape` can be written in their order, each contiguous and all the same distance apart, and
   finds that distance. Returns -1 with TypeError or ValueError. */
int view_require_out(const struct view *view, enum dtype dtype, int dims, const Py_ssize_t *shape,
                     size_t *stride_bytes);

/* Returns a new string such as "[2, 3]". */
PyObject *shape_text(int dims, const Py_ssize_t *shape);
