/* SPDX-License-Identifier: MIT */
/*
 * Finds the FileTensors for the rows and scales of a table.
 */
#include "files/file_tables.h"

#include "files/file_errors.h"
#include "files/tensor.h"
#include "module/objects.h"
#include "module/options.h"
#include "tables/table.h"

/* Returns the tensor at an address with the rows of a view, packed or not, or null. Empty tensors can share an address,
   so they must also have the shape and type of the view. */
static const inlay_file_tensor *find_rows(const inlay_file *file, const void *data, size_t rows,
                                          const inlay_table *view)
{
    for (size_t i = 0; i < inlay_file_tensor_count(file); i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        if (tensor->data == data && tensor->rank == 2 && tensor->shape[0] == rows &&
            (tensor->bytes > 0 ? tensor->shape[1] == view->dim || tensor->element == 0
                               : tensor->shape[1] == view->dim && tensor->element == view->type))
            return tensor;
    }
    return NULL;
}

/* Returns the rows as an array: the tensor itself, its bytes if it packs rows into larger elements, or if `tensor` is
   null, the float32 copy of a tensor of float64 or an empty array. */
static PyObject *rows_of(struct open_file *file, const inlay_file_tensor *tensor, const void *data, size_t rows,
                         const inlay_table *view)
{
    const enum dtype plain = dtype_of_element(view->type);
    const Py_ssize_t shape[2] = {(Py_ssize_t)rows, (Py_ssize_t)view->dim};
    if (tensor != NULL && tensor->element != 0)
        return file_tensor_of(file, tensor);
    return plain != DTYPE_UNKNOWN ? file_tensor_of_memory(file, data, plain, 2, shape)
                                  : file_tensor_of_rows(file, data, rows, inlay_table_row_bytes(view->type, view->dim),
                                                        view->stride_bytes);
}

/* Returns the array of zero points of rows. */
static PyObject *zeros_of(struct open_file *file, const inlay_table *view, const void *zeros, size_t rows)
{
    Py_ssize_t shape[2];
    enum dtype dtype;
    if (zeros == NULL)
        return Py_NewRef(Py_None);
    const int dims = table_zeros_shape(view->type, rows, view->dim, view->group, shape, &dtype);
    return file_tensor_of_memory(file, zeros, dtype, dims, shape);
}

/* Returns the array of scales of rows. */
static PyObject *scales_of(struct open_file *file, const inlay_table *view, const void *scales, size_t rows)
{
    Py_ssize_t shape[2];
    enum dtype dtype;
    const int dims = table_scales_shape(view->type, rows, view->dim, view->group, shape, &dtype);
    if (scales == NULL || dims == 0)
        return Py_NewRef(Py_None);
    return file_tensor_of_memory(file, scales, dtype == DTYPE_U8 ? DTYPE_E8M0 : DTYPE_F32, dims, shape);
}

/* Returns the Table of one tensor. */
static PyObject *make_part(struct open_file *file, const inlay_file_table *table, inlay_table_extent part, size_t rows)
{
    const inlay_table *view = &table->view;
    const inlay_file_tensor *tensor = find_rows(file->file, part.data, rows, view);
    /* "N" steals references and fails on null. */
    PyObject *options =
        Py_BuildValue("{s:N,s:s,s:n,s:N,s:N,s:N,s:d}", "data", rows_of(file, tensor, part.data, rows, view), "type",
                      option_name((int)view->type, &option_elements), "dim", (Py_ssize_t)view->dim, "group",
                      option_number(view->group), "scales", scales_of(file, view, part.scales, rows), "zeros",
                      zeros_of(file, view, part.zeros, rows), "scale", (double)table->scale);
    return table_make(options, tensor != NULL ? tensor->name : "a converted table", -1);
}

/* Returns the Table of several tensors. */
static PyObject *make_whole(struct open_file *file, const inlay_file_table *table)
{
    const inlay_table *view = &table->view;
    PyObject *parts = PyTuple_New((Py_ssize_t)view->extent_count);
    for (size_t i = 0; parts != NULL && i < view->extent_count; i++) {
        const inlay_table_extent *extent = &view->extents[i];
        const size_t end = i + 1 < view->extent_count ? view->extents[i + 1].first_row : view->rows;
        sequence_put(&parts, i, make_part(file, table, *extent, end - extent->first_row));
    }
    PyObject *made = parts != NULL ? table_of_parts(parts) : NULL;
    Py_XDECREF(parts);
    return made;
}

PyObject *table_of_view(struct open_file *file, const inlay_file_table *table)
{
    if (table->view.extents != NULL)
        return make_whole(file, table);
    const inlay_table *view = &table->view;
    return make_part(file, table, (inlay_table_extent){view->data, view->scales, view->zeros, 0}, view->rows);
}

PyObject *table_of_file(struct open_file *file, const char *name)
{
    inlay_file_table table;
    inlay_file_error error;
    PyThreadState *thread = PyEval_SaveThread();
    const inlay_file_status status = inlay_file_get_table(file->file, name, &table, &error);
    PyEval_RestoreThread(thread);
    if (status == INLAY_FILE_ERROR_MISSING)
        PyErr_SetString(PyExc_KeyError, error.message);
    else if (status != INLAY_FILE_OK)
        raise_file_error(&error);
    return status == INLAY_FILE_OK ? table_of_view(file, &table) : NULL;
}

PyObject *table_of_rows(struct open_file *file, const inlay_table *view)
{
    const inlay_file_tensor *tensor = find_rows(file->file, view->data, view->rows, view);
    /* Converted scales already include every factor in the file: don't apply it twice. */
    const bool converted = view->group > 0 || view->type == INLAY_E2M1_F32;
    return tensor != NULL && !converted ? table_of_file(file, tensor->name)
                                        : table_of_view(file, &(inlay_file_table){.view = *view, .scale = 1});
}
