/* SPDX-License-Identifier: MIT */
/*
 * Values one by one. Bytes of GGUF strings that are not UTF-8 become U+FFFD.
 */
#include "files/value.h"

#include <string.h>

/* Returns one element of a value that is a list. */
static PyObject *element_at(const inlay_file_value *value, size_t i)
{
    int64_t integer;
    double number;
    if (inlay_file_value_integers(value, i, 1, &integer) == INLAY_FILE_OK)
        return PyLong_FromLongLong(integer);
    if (inlay_file_value_numbers(value, i, 1, &number) == INLAY_FILE_OK)
        return PyFloat_FromDouble(number);
    return PyUnicode_DecodeUTF8(value->strings[i], (Py_ssize_t)strlen(value->strings[i]), "replace");
}

PyObject *file_value(const inlay_file_value *value)
{
    switch (value->kind) {
    case INLAY_FILE_VALUE_STRING:
        return PyUnicode_DecodeUTF8(value->text, (Py_ssize_t)value->count, "replace");
    case INLAY_FILE_VALUE_INTEGER:
        return PyLong_FromLongLong(value->integer);
    case INLAY_FILE_VALUE_NUMBER:
        return PyFloat_FromDouble(value->number);
    case INLAY_FILE_VALUE_BOOLEAN:
        return PyBool_FromLong(value->integer != 0);
    default:
        break;
    }
    PyObject *tuple = PyTuple_New((Py_ssize_t)value->count);
    for (size_t i = 0; tuple != NULL && i < value->count; i++) {
        PyObject *element = element_at(value, i);
        if (element == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, element) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Returns a list of integers. */
static PyObject *list_of(const int64_t *numbers, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL || PyList_SetItem(list, (Py_ssize_t)i, number) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* Returns the rows of an array [rows, columns] as a list of lists. */
static PyObject *table_of(const int64_t *numbers, size_t rows, size_t columns)
{
    PyObject *list = PyList_New((Py_ssize_t)rows);
    for (size_t i = 0; list != NULL && i < rows; i++) {
        PyObject *row = list_of(numbers + i * columns, columns);
        if (row == NULL || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *columns_of(const inlay_ngram_spec *spec)
{
    PyObject *list = PyList_New((Py_ssize_t)spec->column_count);
    for (size_t i = 0; list != NULL && i < spec->column_count; i++) {
        const inlay_ngram_column *column = &spec->columns[i];
        PyObject *numbers =
            Py_BuildValue("IIIIK", (unsigned)column->length, (unsigned)column->vector, (unsigned)column->modulus,
                          (unsigned)column->table, (unsigned long long)column->offset);
        if (numbers == NULL || PyList_SetItem(list, (Py_ssize_t)i, numbers) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *file_ngram_spec(const inlay_ngram_spec *spec)
{
    PyObject *map = Py_NewRef(Py_None);
    if (spec->token_map != NULL) {
        Py_DECREF(map);
        map = PyBytes_FromStringAndSize((const char *)(const void *)spec->token_map,
                                        (Py_ssize_t)(spec->vocab * sizeof *spec->token_map));
    }
    /* N takes references over, and fails for null. */
    return Py_BuildValue("{s:n,s:I,s:s,s:N,s:N,s:I,s:N,s:N,s:N,s:N}", "vocab", (Py_ssize_t)spec->vocab, "length",
                         (unsigned)spec->length, "mix", spec->mix == INLAY_NGRAM_MIX_XOR ? "xor" : "add", "columns",
                         columns_of(spec), "multipliers", table_of(spec->multipliers, spec->vectors, spec->length),
                         "pad", (unsigned)spec->pad, "token_map", map, "resets",
                         list_of(spec->resets, spec->reset_count), "masks", list_of(spec->masks, spec->mask_count),
                         "zero_is_none", PyBool_FromLong((long)spec->zero_is_none));
}
