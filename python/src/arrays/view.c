/* SPDX-License-Identifier: MIT */
/*
 * The layout of views, and checks before the library reads them.
 */
#include "arrays/view.h"

#include "module/errors.h"
#include "module/objects.h"

#include <string.h>

void view_release(struct view *view)
{
    PyObject *owner = view->owner;
    Py_buffer *buffer = view->buffer;
    view->owner = NULL;
    view->buffer = NULL;
    if (view->copy != NULL) {
        PyMem_Free(view->copy);
        view->copy = NULL;
    }
    if (buffer != NULL) {
        PyBuffer_Release(buffer);
        PyMem_Free(buffer);
    }
    Py_XDECREF(owner);
}

/* ---- Layout ----------------------------------------------------------------------------------------------------- */

size_t view_count(const struct view *view)
{
    size_t count = 1;
    for (int i = 0; i < view->dims; i++)
        count *= (size_t)view->shape[i];
    return count;
}

bool view_is_contiguous(const struct view *view)
{
    Py_ssize_t bytes = dtype_infos[view->dtype].bytes;
    for (int i = view->dims - 1; i >= 0; i--) {
        if (view->shape[i] == 0)
            return true;
        if (view->shape[i] != 1 && view->stride_bytes[i] != bytes)
            return view_count(view) == 0;
        bytes *= view->shape[i];
    }
    return true;
}

/* Returns an integer of any type as int64. Saturates uint64. */
static int64_t integer_at(const char *at, enum dtype dtype)
{
    const int unused = 64 - 8 * dtype_infos[dtype].bytes;
    uint64_t bits = 0;
    memcpy(&bits, at, dtype_infos[dtype].bytes);
    if (dtype_infos[dtype].dlpack_code == DLPACK_INT)
        return (int64_t)(bits << unused) >> unused;
    return bits <= INT64_MAX ? (int64_t)bits : INT64_MAX;
}

/* Advances a row-major index over all dimensions except the last, and the address of the row at that index. */
static void next_row(const struct view *view, Py_ssize_t index[VIEW_DIMS], const char **at)
{
    for (int i = view->dims - 2; i >= 0; i--) {
        *at += view->stride_bytes[i];
        if (++index[i] < view->shape[i])
            return;
        *at -= view->stride_bytes[i] * view->shape[i];
        index[i] = 0;
    }
}

/* Returns memory for the elements of a view as type `dtype`, or null. The size of a broadcast view can overflow. */
static char *allocate_copy(const struct view *view, enum dtype dtype)
{
    size_t bytes = dtype_infos[dtype].bytes;
    for (int i = 0; i < view->dims; i++)
        if (__builtin_mul_overflow(bytes, (size_t)view->shape[i], &bytes))
            return NULL;
    return PyMem_Malloc(bytes > 0 ? bytes : 1);
}

int view_pack(struct view *view, enum dtype dtype)
{
    if (view->dtype == dtype && view_is_contiguous(view))
        return 0;
    const size_t count = view_count(view), bytes = dtype_infos[dtype].bytes;
    char *copy = allocate_copy(view, dtype), *to = copy;
    if (copy == NULL)
        return raise_memory();
    Py_ssize_t index[VIEW_DIMS] = {0};
    const Py_ssize_t length = view->dims > 0 ? view->shape[view->dims - 1] : 1;
    const Py_ssize_t stride = view->dims > 0 ? view->stride_bytes[view->dims - 1] : 0;
    const char *row = view->data;
    for (size_t done = 0; done < count; done += (size_t)length) {
        for (Py_ssize_t i = 0; i < length; i++, to += bytes) {
            const char *from = row + i * stride;
            if (view->dtype == dtype) {
                memcpy(to, from, bytes);
            } else {
                const int64_t wide = integer_at(from, view->dtype);
                memcpy(to, &wide, bytes);
            }
        }
        next_row(view, index, &row);
    }
    PyMem_Free(view->copy);
    view->copy = copy;
    view->data = copy;
    view->dtype = dtype;
    Py_ssize_t stride_bytes = (Py_ssize_t)bytes;
    for (int i = view->dims - 1; i >= 0; i--) {
        view->stride_bytes[i] = stride_bytes;
        stride_bytes *= view->shape[i];
    }
    return 0;
}

int view_pack_u32(struct view *view, const char *what)
{
    if (view_ids(view, what) == 0)
        return -1;
    const size_t count = view_count(view), bytes = dtype_infos[view->dtype].bytes;
    for (size_t i = 0; i < count && view->dtype != DTYPE_U32; i++) {
        const int64_t number = integer_at(view->data + i * bytes, view->dtype);
        if (number < 0 || number > UINT32_MAX) {
            char text[ERROR_TEXT_BYTES];
            index_text(text, what, number, i, view->dims, view->shape, "[0, 4294967296)");
            return raise_error(PyExc_ValueError, "%s", text);
        }
    }
    if (bytes == sizeof(uint32_t)) /* uint32 has the same bits as int32 */
        view->dtype = DTYPE_U32;
    return view_pack(view, DTYPE_U32);
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

PyObject *shape_text(int dims, const Py_ssize_t *shape)
{
    PyObject *list = PyList_New(dims);
    for (int i = 0; list != NULL && i < dims; i++)
        sequence_put(&list, (size_t)i, PyLong_FromSsize_t(shape[i]));
    PyObject *text = list != NULL ? PyObject_Repr(list) : NULL;
    Py_XDECREF(list);
    return text;
}

static int wrong_shape(const struct view *view, const char *what, int dims, const Py_ssize_t *shape)
{
    PyObject *has = shape_text(view->dims, view->shape), *expected = shape_text(dims, shape);
    if (has != NULL && expected != NULL)
        PyErr_Format(PyExc_ValueError, "%s has shape %U, expected %U", what, has, expected);
    Py_XDECREF(has);
    Py_XDECREF(expected);
    return -1;
}

int view_broadcast(struct view *view, const char *what, int dims, const Py_ssize_t *shape)
{
    Py_ssize_t strides[VIEW_DIMS];
    const int extra = dims - view->dims;
    if (extra < 0)
        return wrong_shape(view, what, dims, shape);
    for (int i = 0; i < dims; i++) {
        const Py_ssize_t length = i < extra ? 1 : view->shape[i - extra];
        if (length != shape[i] && length != 1)
            return wrong_shape(view, what, dims, shape);
        strides[i] = i < extra || length != shape[i] ? 0 : view->stride_bytes[i - extra];
    }
    view->dims = dims;
    for (int i = 0; i < dims; i++) {
        view->shape[i] = shape[i];
        view->stride_bytes[i] = strides[i];
    }
    return 0;
}

int view_wrong_dtype(const struct view *view, const char *what, const char *expected, enum dtype dtype)
{
    const char *to = dtype_infos[dtype].name;
    return raise_error(
        PyExc_TypeError,
        "%s has elements of type %s, expected %s: convert it with %s.astype(\"%s\"), or %s.to(torch.%s) in PyTorch",
        what, dtype_infos[view->dtype].name, expected, what, to, what, to);
}

int view_require_dtype(const struct view *view, const char *what, enum dtype dtype)
{
    return view->dtype == dtype ? 0 : view_wrong_dtype(view, what, dtype_infos[dtype].name, dtype);
}

int view_require_shape(const struct view *view, const char *what, int dims, const Py_ssize_t *shape)
{
    bool equal = view->dims == dims;
    for (int i = 0; equal && i < dims; i++)
        equal = view->shape[i] == shape[i];
    return equal ? 0 : wrong_shape(view, what, dims, shape);
}

int view_require_contiguous(const struct view *view, const char *what)
{
    if (view_is_contiguous(view))
        return 0;
    return raise_error(
        PyExc_ValueError,
        "%s is not contiguous: make a copy with numpy.ascontiguousarray(%s), or %s.contiguous() in PyTorch", what, what,
        what);
}

inlay_id_type view_ids(struct view *view, const char *what)
{
    const bool widened = view->dtype == DTYPE_I8 || view->dtype == DTYPE_U64; /* ids can't have these types */
    const enum dtype dtype = widened ? DTYPE_I64 : view->dtype;
    if (dtype_infos[dtype].id == 0)
        view_wrong_dtype(view, what, "integers", DTYPE_I64);
    else if (view_pack(view, dtype) == 0)
        return dtype_infos[dtype].id;
    return (inlay_id_type)0;
}

int view_require_out(const struct view *view, enum dtype dtype, int dims, const Py_ssize_t *shape)
{
    if (view->dtype != dtype)
        return raise_error(PyExc_TypeError, "out has elements of type %s, expected %s", dtype_infos[view->dtype].name,
                           dtype_infos[dtype].name);
    if (view_require_shape(view, "out", dims, shape) < 0)
        return -1;
    return view->writable ? 0 : raise_error(PyExc_ValueError, "out is read-only: give an array that can be written");
}

int view_row_stride(const struct view *view, size_t *stride_bytes)
{
    const int dims = view->dims;
    const Py_ssize_t bytes = dtype_infos[view->dtype].bytes, dim = view->shape[dims - 1];
    *stride_bytes = (size_t)(dim * bytes);
    if (view_count(view) == 0)
        return 0;
    bool good = dim == 1 || view->stride_bytes[dims - 1] == bytes;
    /* The stride of a dimension of 1 doesn't matter. */
    Py_ssize_t step = 0;
    for (int i = dims - 2; good && i >= 0; i--) {
        if (view->shape[i] == 1)
            continue;
        if (step == 0) {
            step = view->stride_bytes[i];
            good = step >= dim * bytes;
            *stride_bytes = (size_t)step;
        } else {
            good = view->stride_bytes[i] == step;
        }
        step *= view->shape[i];
    }
    if (good)
        return 0;
    return raise_error(
        PyExc_ValueError,
        "out must have a constant row stride: give a contiguous array, or a slice of the columns of one");
}
