/* SPDX-License-Identifier: MIT */
/*
 * All parts of a table have the same type, dim and distance of rows. The distance of a part of one row is any.
 */
#include "extents.h"

#include "options.h"
#include "table.h"

#include <stdbool.h>
#include <stdio.h>

static const inlay_table *part_at(PyObject *tables, Py_ssize_t i)
{
    return table_view(PyTuple_GetItem(tables, i));
}

/* Appends the Table of an object, unless it has no row. Returns -1 with an exception. */
static int append_table(PyObject *list, PyObject *object, Py_ssize_t i)
{
    char what[32];
    snprintf(what, sizeof what, "tables[%zd]", i);
    PyObject *table = table_from(object, what);
    if (table == NULL)
        return -1;
    const int failed = table_view(table)->rows > 0 ? PyList_Append(list, table) : 0;
    Py_DECREF(table);
    return failed;
}

PyObject *extents_tables(PyObject *sequence)
{
    const Py_ssize_t count = PySequence_Size(sequence);
    PyObject *list = count >= 0 ? PyList_New(0) : NULL, *tables = NULL;
    int failed = list == NULL;
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        PyObject *object = PySequence_GetItem(sequence, i);
        failed = object == NULL || append_table(list, object, i) < 0;
        Py_XDECREF(object);
    }
    if (!failed && PyList_Size(list) == 0)
        PyErr_SetString(PyExc_ValueError, "tables have no rows: give at least one table that has some");
    else if (!failed)
        tables = PyList_AsTuple(list);
    Py_XDECREF(list);
    return tables;
}

/* Returns the first part with more than one row, which tells the distance of rows, or else the first. */
static const inlay_table *model_of(PyObject *tables, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (part_at(tables, i)->rows > 1)
            return part_at(tables, i);
    return part_at(tables, 0);
}

/* Checks that a part is like the others. Returns -1 with ValueError. */
static int check_part(PyObject *tables, const inlay_table *model, Py_ssize_t i)
{
    const inlay_table *part = part_at(tables, i);
    if (part->type != model->type || part->dim != model->dim || part->group != model->group) {
        PyErr_Format(PyExc_ValueError, "tables[%zd] is %s with dim %zu, and another one is %s with dim %zu", i,
                     option_name((int)part->type, &option_elements), part->dim,
                     option_name((int)model->type, &option_elements), model->dim);
        return -1;
    }
    const struct {
        bool wrong;
        const char *text;
    } reasons[] = {
        {part->rows > 1 && part->stride_bytes != model->stride_bytes, "has rows of another distance than another one"},
        {(part->scales != NULL) != (model->scales != NULL), "and another one do not both have scales"},
        {(part->zeros != NULL) != (model->zeros != NULL), "and another one do not both have zero points"},
        {table_scale(PyTuple_GetItem(tables, i)) != table_scale(PyTuple_GetItem(tables, 0)),
         "has another scale than the first one"},
        {part->vocab > 0, "is a shard"},
        {part->extents != NULL, "lies in extents itself"},
    };
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
        if (reasons[k].wrong) {
            PyErr_Format(PyExc_ValueError, "tables[%zd] %s", i, reasons[k].text);
            return -1;
        }
    return 0;
}

/* Returns how many rows each extent but the last has, or 0 if they differ. */
static size_t common_rows(PyObject *tables, Py_ssize_t count)
{
    const size_t rows = part_at(tables, 0)->rows;
    for (Py_ssize_t i = 1; i < count; i++)
        if (i < count - 1 ? part_at(tables, i)->rows != rows : part_at(tables, i)->rows > rows)
            return 0;
    return rows;
}

int extents_view(PyObject *tables, inlay_table *view, inlay_table_extent **extents)
{
    const Py_ssize_t count = PyTuple_Size(tables);
    const inlay_table *model = model_of(tables, count);
    size_t rows = 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (check_part(tables, model, i) < 0)
            return -1;
    *extents = PyMem_Calloc((size_t)count, sizeof **extents);
    if (*extents == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        const inlay_table *part = part_at(tables, i);
        (*extents)[i] = (inlay_table_extent){part->data, part->scales, part->zeros, rows};
        rows += part->rows;
    }
    *view = inlay_table_of(model->type, NULL, rows, model->dim, model->stride_bytes);
    view->group = model->group;
    *view = inlay_table_in_extents(*view, *extents, (size_t)count, common_rows(tables, count));
    return 0;
}
