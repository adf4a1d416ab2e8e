/* SPDX-License-Identifier: MIT */
/*
 * Which FileTensors have the rows and scales that the library found.
 */
#include "file_table.h"

#include "file_errors.h"
#include "file_tensor.h"
#include "options.h"
#include "table.h"

/* Returns the tensor that rows [rows, dim] at an address are, or null. Empty tensors can share an address. */
static const inlay_file_tensor *find_rows(const inlay_file *file, const void *data, size_t rows, size_t dim)
{
    for (size_t i = 0; i < inlay_file_tensor_count(file); i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        if (tensor->data == data && tensor->rank == 2 && tensor->shape[0] == rows && tensor->shape[1] == dim)
            return tensor;
    }
    return NULL;
}

/* Returns the array of scales of rows. */
static PyObject *scales_of(struct open_file *file, const inlay_table *view, const void *scales, size_t rows)
{
    Py_ssize_t shape[2];
    const int dims = table_scales_shape(view->type, rows, view->dim, view->group, shape);
    if (scales == NULL || dims == 0)
        return Py_NewRef(Py_None);
    return file_tensor_of_memory(file, scales, view->type == INLAY_E4M3_E8M0 ? DTYPE_E8M0 : DTYPE_F32, dims, shape);
}

/* Returns the Table of one tensor. */
static PyObject *make_part(struct open_file *file, const inlay_file_table *table, const void *data, const void *scales,
                           size_t rows)
{
    const inlay_table *view = &table->view;
    const inlay_file_tensor *tensor = find_rows(file->file, data, rows, view->dim);
    if (tensor == NULL)
        return PyErr_Format(PyExc_SystemError, "the rows of a table of a file are no tensor of it: name a tensor");
    struct table_arguments given = table_arguments_of(file_tensor_of(file, tensor));
    PyObject *made = NULL;
    given.type = PyUnicode_FromString(option_name((int)view->type, &option_elements));
    given.dim = PyLong_FromSize_t(view->dim);
    given.scales = scales_of(file, view, scales, rows);
    given.scale = PyFloat_FromDouble((double)table->scale);
    if (given.data != NULL && given.type != NULL && given.dim != NULL && given.scales != NULL && given.scale != NULL)
        made = table_make(&given, tensor->name, -1);
    Py_XDECREF(given.data);
    Py_XDECREF(given.type);
    Py_XDECREF(given.dim);
    Py_XDECREF(given.scales);
    Py_XDECREF(given.scale);
    return made;
}

/* Returns the Table of several tensors. */
static PyObject *make_whole(struct open_file *file, const inlay_file_table *table)
{
    const inlay_table *view = &table->view;
    PyObject *parts = PyList_New((Py_ssize_t)view->extent_count), *made = NULL;
    int failed = parts == NULL;
    for (size_t i = 0; i < view->extent_count && !failed; i++) {
        const inlay_table_extent *extent = &view->extents[i];
        const size_t end = i + 1 < view->extent_count ? view->extents[i + 1].first_row : view->rows;
        PyObject *part = make_part(file, table, extent->data, extent->scales, end - extent->first_row);
        failed = part == NULL || PyList_SetItem(parts, (Py_ssize_t)i, part) < 0;
    }
    if (!failed)
        made = table_of_parts(parts);
    Py_XDECREF(parts);
    return made;
}

PyObject *table_of_view(struct open_file *file, const inlay_file_table *table)
{
    if (table->view.extents != NULL)
        return make_whole(file, table);
    return make_part(file, table, table->view.data, table->view.scales, table->view.rows);
}

PyObject *table_of_file(struct open_file *file, const char *name)
{
    inlay_file_table table;
    inlay_file_error error;
    PyThreadState *thread = PyEval_SaveThread();
    const inlay_file_status status = inlay_file_table_of(file->file, name, &table, &error);
    PyEval_RestoreThread(thread);
    return status == INLAY_FILE_OK ? table_of_view(file, &table) : raise_name_error(&error);
}

PyObject *table_of_rows(struct open_file *file, const inlay_table *view)
{
    const inlay_file_tensor *tensor = find_rows(file->file, view->data, view->rows, view->dim);
    return tensor != NULL ? table_of_file(file, tensor->name)
                          : table_of_view(file, &(inlay_file_table){.view = *view, .scale = 1});
}
