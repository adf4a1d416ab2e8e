/* SPDX-License-Identifier: MIT */
/*
 * Makes quantized and random tables.
 */
#include "tables/new.h"

#include "arrays/output.h"
#include "module/errors.h"
#include "module/options.h"
#include "tables/table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- Quantization ----------------------------------------------------------------------------------------------- */

/* The arrays of a new table. If the type has no such array, its struct output is all zero. */
enum { DATA, SCALES, ZEROS, ARRAYS };

/* Returns the array type of rows: the type itself if outputs can have it, else bytes. The bytes are signed if
   frameworks use int8 for the type. */
static enum dtype dtype_of_rows(inlay_element_type type)
{
    const enum dtype plain = dtype_of_element(type);
    if (dtype_is_output(plain))
        return plain;
    return type == INLAY_I8 || type == INLAY_I8_INVERSE || type == INLAY_I8_GROUPED ? DTYPE_I8 : DTYPE_U8;
}

static int open_arrays(struct output to[ARRAYS], const inlay_table *from, inlay_element_type type, uint32_t group,
                       bool with_zeros)
{
    if (table_check_dim("a table", type, from->dim) < 0)
        return -1;
    const size_t row_bytes = inlay_table_row_bytes(type, from->dim);
    enum dtype dtypes[ARRAYS] = {dtype_of_rows(type)};
    Py_ssize_t shapes[ARRAYS][2] = {
        {(Py_ssize_t)from->rows, (Py_ssize_t)(row_bytes / dtype_infos[dtypes[DATA]].bytes)}};
    int dims[ARRAYS] = {2, table_scales_shape(type, from->rows, from->dim, group, shapes[SCALES], &dtypes[SCALES])};
    if (with_zeros)
        dims[ZEROS] = table_zeros_shape(type, from->rows, from->dim, group, shapes[ZEROS], &dtypes[ZEROS]);
    if (with_zeros && dims[ZEROS] == 0)
        return raise_error(PyExc_ValueError, "type %s takes no zeros", option_name((int)type, &option_elements));
    for (int i = 0; i < ARRAYS; i++)
        if (dims[i] > 0 && output_open(&to[i], NULL, output_default_way(), dtypes[i], dims[i], shapes[i]) < 0)
            return -1;
    return 0;
}

/* Quantizes into open arrays. Returns the largest error, or -1 with an exception set. */
static double fill_arrays(struct output to[ARRAYS], const inlay_table *from, inlay_element_type type, uint32_t group)
{
    inlay_table_storage storage = inlay_table_storage_of(type, to[DATA].data, from->dim);
    storage.group = group;
    storage.scales = to[SCALES].data;
    storage.zeros = to[ZEROS].data;
    double error = 0;
    PyThreadState *thread = PyEval_SaveThread();
    inlay_status status = inlay_table_quantize(from, &storage, NULL, &error);
    PyEval_RestoreThread(thread);
    if (status == INLAY_OK)
        return error;
    if (status != INLAY_ERROR_OPTION || from->type != INLAY_F32 || from->vocab > 0)
        raise_status(status);
    else
        raise_error(
            PyExc_ValueError,
            "type %s cannot store a value of the table: it is NaN, infinite or out of range (nvfp4 stores up to "
            "2688, types with float16 scales 65504, u4_grouped_flat without zeros no negative values)",
            option_name((int)type, &option_elements));
    return -1;
}

static PyObject *close_array(struct output *output)
{
    return output->data != NULL ? output_close(output, output_default_way(), NULL) : Py_NewRef(Py_None);
}

/* Makes the Table of the written arrays, with the scale of the source table. */
static PyObject *table_of_arrays(struct output to[ARRAYS], PyObject *table, PyObject *type, uint32_t group,
                                 double error)
{
    const double factor = (double)table_scale(table);
    /* "N" steals references and fails on null. */
    PyObject *options =
        Py_BuildValue("{s:N,s:O,s:n,s:N,s:N,s:N,s:d}", "data", close_array(&to[DATA]), "type", type, "dim",
                      (Py_ssize_t)table_view(table)->dim, "group", option_number(group), "scales",
                      close_array(&to[SCALES]), "zeros", close_array(&to[ZEROS]), "scale", factor);
    return table_make(options, "table", error * fabs(factor));
}

PyObject *table_quantize(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *name, *group, *made = NULL;
    int with_zeros;
    inlay_element_type type;
    uint32_t columns = 0;
    if (!PyArg_ParseTuple(args, "OOOp", &object, &name, &group, &with_zeros) ||
        option_required_enum(name, &option_elements, &type) < 0)
        return NULL;
    const bool grouped = inlay_table_min_group(type) > 0;
    if (!grouped && (group != Py_None || with_zeros))
        return PyErr_Format(PyExc_ValueError, "type %s takes no zeros or group",
                            option_name((int)type, &option_elements));
    PyObject *table = table_from(object, "table");
    if (table == NULL)
        return NULL;
    const inlay_table *from = table_view(table);
    struct output to[ARRAYS];
    memset(to, 0, sizeof to);
    if ((!grouped || table_group(group, type, &columns) == 0) &&
        open_arrays(to, from, type, columns, with_zeros != 0) == 0) {
        const double error = fill_arrays(to, from, type, columns);
        if (error >= 0)
            made = table_of_arrays(to, table, name, columns, error);
    }
    for (int i = 0; i < ARRAYS; i++)
        output_abandon(&to[i]);
    Py_DECREF(table);
    return made;
}

/* ---- Random tables ---------------------------------------------------------------------------------------------- */

PyObject *table_random(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_ssize_t shape[2];
    PyObject *kind, *mean, *std, *low, *high, *seed, *offset, *first_row, *zero_row, *out;
    if (!PyArg_ParseTuple(args, "nnOOOOOOOOOO", &shape[0], &shape[1], &kind, &mean, &std, &low, &high, &seed, &offset,
                          &first_row, &zero_row, &out))
        return NULL;
    inlay_random_kind distribution = INLAY_RANDOM_NORMAL;
    if (option_enum(kind, &option_distributions, &distribution) < 0)
        return NULL;
    if (shape[0] < 0 || shape[1] < 1)
        return PyErr_Format(PyExc_ValueError, "a table cannot have the shape [%zd, %zd]", shape[0], shape[1]);
    inlay_random_spec spec = inlay_random_spec_default(distribution, 0);
    if (option_double(mean, &spec.mean) < 0 || option_double(std, &spec.deviation) < 0 ||
        option_double(low, &spec.low) < 0 || option_double(high, &spec.high) < 0 ||
        option_uint64(seed, "seed", &spec.key) < 0 || option_uint64(offset, "offset", &spec.offset) < 0 ||
        option_uint64(first_row, "first_row", &spec.first_row) < 0 ||
        option_int64(zero_row, "zero_row", &spec.zero_row) < 0)
        return NULL;
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
