/* SPDX-License-Identifier: MIT */
/*
 * New tables: quantised ones and random ones.
 */
#include "tables/new.h"

#include "arrays/output.h"
#include "module/errors.h"
#include "module/options.h"
#include "tables/table.h"

#include <math.h>
#include <stdbool.h>

/* ---- Quantising ------------------------------------------------------------------------------------------------- */

/* The arrays of a new table. */
struct quantised {
    struct output data, scales, zeros;
    bool open[3];
};

/* Returns the type of arrays of rows: that of outputs where they have it, else bytes. Frameworks know the rows of some
   types as int8. */
static enum dtype dtype_of_rows(inlay_element_type type)
{
    const enum dtype plain = dtype_of_element(type);
    if (dtype_is_output(plain))
        return plain;
    return type == INLAY_I8 || type == INLAY_I8_INVERSE || type == INLAY_I8_GROUPED ? DTYPE_I8 : DTYPE_U8;
}

static int open_arrays(struct quantised *to, const inlay_table *from, inlay_element_type type, uint32_t group,
                       bool with_zeros)
{
    const enum view_way way = output_default_way();
    const struct table_format *format = table_format(type);
    const size_t row_bytes = inlay_table_row_bytes(type, from->dim);
    if (row_bytes == 0)
        return raise_error(PyExc_ValueError, "a table of type %s cannot have dim %zu",
                           option_name((int)type, &option_elements), from->dim);
    const enum dtype dtype = dtype_of_rows(type);
    const Py_ssize_t data[2] = {(Py_ssize_t)from->rows, (Py_ssize_t)(row_bytes / dtype_infos[dtype].bytes)};
    if (output_open(&to->data, NULL, way, dtype, 2, data) < 0)
        return -1;
    to->open[0] = true;
    Py_ssize_t scales[2], zeros[2];
    const int dims = table_scales_shape(type, from->rows, from->dim, group, scales);
    if (dims == 0)
        return 0;
    const enum dtype of_scales = format->scales == SCALES_PER_BLOCK ? DTYPE_U8 : DTYPE_F32;
    if (output_open(&to->scales, NULL, way, of_scales, dims, scales) < 0)
        return -1;
    to->open[1] = true;
    if (!with_zeros)
        return 0;
    enum dtype of_zeros;
    const int dims_of_zeros = table_zeros_shape(type, scales, zeros, &of_zeros);
    if (output_open(&to->zeros, NULL, way, of_zeros, dims_of_zeros, zeros) < 0)
        return -1;
    to->open[2] = true;
    return 0;
}

/* Quantises into open arrays, and returns the largest error; -1 with an exception. */
static double fill_arrays(struct quantised *to, const inlay_table *from, inlay_element_type type, uint32_t group)
{
    inlay_table_storage storage = inlay_table_storage_of(type, to->data.data, from->dim);
    storage.group = group;
    storage.scales = to->open[1] ? to->scales.data : NULL;
    storage.zeros = to->open[2] ? to->zeros.data : NULL;
    double error = 0;
    PyThreadState *thread = PyEval_SaveThread();
    inlay_status status = inlay_table_quantize(from, &storage, NULL, &error);
    PyEval_RestoreThread(thread);
    if (status == INLAY_OK)
        return error;
    raise_status(status);
    return -1;
}

static PyObject *close_array(struct output *output, bool *open)
{
    if (!*open)
        return Py_NewRef(Py_None);
    *open = false;
    return output_close(output, output_default_way(), NULL);
}

/* Makes the Table of arrays that are written, with the scale of the one that was read. */
static PyObject *table_of_arrays(struct quantised *to, PyObject *table, PyObject *type, uint32_t group, double error)
{
    const inlay_table *from = table_view(table);
    const double factor = (double)table_scale(table);
    struct table_arguments given = table_arguments_of(NULL);
    PyObject *made = NULL, *dim = PyLong_FromSize_t(from->dim), *scale = PyFloat_FromDouble(factor);
    PyObject *columns = group > 0 ? PyLong_FromUnsignedLong(group) : Py_NewRef(Py_None);
    given.data = close_array(&to->data, &to->open[0]);
    given.scales = close_array(&to->scales, &to->open[1]);
    given.zeros = close_array(&to->zeros, &to->open[2]);
    given.type = type;
    given.dim = dim;
    given.group = columns;
    given.scale = scale;
    if (given.data != NULL && given.scales != NULL && given.zeros != NULL && dim != NULL && columns != NULL &&
        scale != NULL)
        made = table_make(&given, "table", error * fabs(factor));
    Py_XDECREF(scale);
    Py_XDECREF(given.data);
    Py_XDECREF(given.scales);
    Py_XDECREF(given.zeros);
    Py_XDECREF(dim);
    Py_XDECREF(columns);
    return made;
}

PyObject *table_quantize(PyObject *Py_UNUSED(module), PyObject *args, PyObject *options)
{
    static char *names[] = {"table", "type", "group", "zeros", NULL};
    PyObject *object, *name, *group_object = Py_None;
    int with_zeros = 0;
    uint64_t group = 32;
    if (!PyArg_ParseTupleAndKeywords(args, options, "OO|$Op", names, &object, &name, &group_object, &with_zeros))
        return NULL;
    const int type = option_value(name, &option_elements, -1);
    if (type < 0 || option_uint64(group_object, "group", &group) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "type is None, not a string");
        return NULL;
    }
    const bool grouped = table_format((inlay_element_type)type)->scales == SCALES_PER_GROUP;
    if (!grouped && (group_object != Py_None || with_zeros))
        return PyErr_Format(PyExc_ValueError, "type %s has neither zeros nor group",
                            option_name(type, &option_elements));
    PyObject *table = table_from(object, "table");
    if (table == NULL)
        return NULL;
    const inlay_table *from = table_view(table);
    if (grouped && ((group != 32 && group != 64 && group != 128) || from->dim % group != 0)) {
        PyErr_Format(PyExc_ValueError, "group is %llu, not 32, 64 or 128, or dim %zu is no multiple of it",
                     (unsigned long long)group, from->dim);
        Py_DECREF(table);
        return NULL;
    }
    struct quantised to = {.open = {false}};
    PyObject *made = NULL;
    const uint32_t columns = grouped ? (uint32_t)group : 0;
    if (open_arrays(&to, from, (inlay_element_type)type, columns, with_zeros != 0) == 0) {
        const double error = fill_arrays(&to, from, (inlay_element_type)type, columns);
        if (error >= 0)
            made = table_of_arrays(&to, table, name, columns, error);
    }
    struct output *const outputs[3] = {&to.data, &to.scales, &to.zeros};
    for (int i = 0; i < 3; i++)
        if (to.open[i])
            output_abandon(outputs[i]);
    Py_DECREF(table);
    return made;
}

/* ---- Random tables ---------------------------------------------------------------------------------------------- */

PyObject *table_random(PyObject *Py_UNUSED(module), PyObject *args, PyObject *options)
{
    static char *names[] = {"rows", "dim",    "kind",      "mean",     "deviation", "low", "high",
                            "key",  "offset", "first_row", "zero_row", "out",       NULL};
    Py_ssize_t shape[2];
    PyObject *kind = Py_None, *mean = Py_None, *deviation = Py_None, *low = Py_None, *high = Py_None, *key = Py_None;
    PyObject *offset = Py_None, *first_row = Py_None, *zero_row = Py_None, *out = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, options, "nn|$OOOOOOOOOO", names, &shape[0], &shape[1], &kind, &mean,
                                     &deviation, &low, &high, &key, &offset, &first_row, &zero_row, &out))
        return NULL;
    const int distribution = option_value(kind, &option_distributions, INLAY_RANDOM_NORMAL);
    if (distribution < 0)
        return NULL;
    if (shape[0] < 0 || shape[1] < 1)
        return PyErr_Format(PyExc_ValueError, "a table cannot have the shape [%zd, %zd]", shape[0], shape[1]);
    inlay_random_spec spec = inlay_random_spec_default((inlay_random_kind)distribution, 0);
    uint64_t first = 0;
    if (option_double(mean, &spec.mean) < 0 || option_double(deviation, &spec.deviation) < 0 ||
        option_double(low, &spec.low) < 0 || option_double(high, &spec.high) < 0 ||
        option_uint64(key, "key", &spec.key) < 0 || option_uint64(offset, "offset", &spec.offset) < 0 ||
        option_uint64(first_row, "first_row", &first) < 0 || option_int64(zero_row, "zero_row", &spec.zero_row) < 0)
        return NULL;
    spec.first_row = first;
    struct output output;
    const enum view_way way = output_default_way();
    if (output_open(&output, out, way, DTYPE_F32, 2, shape) < 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    inlay_status status =
        inlay_table_random(&spec, output.data, (size_t)shape[0], (size_t)shape[1], output.stride_bytes);
    PyEval_RestoreThread(thread);
    if (status == INLAY_OK)
        return output_close(&output, way, NULL);
    raise_status(status);
    return output_abandon(&output);
}
