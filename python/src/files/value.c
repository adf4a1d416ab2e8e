/* SPDX-License-Identifier: MIT */
/*
 * Converts values. In GGUF strings, bytes that aren't UTF-8 become U+FFFD.
 */
#include "files/value.h"

#include "module/objects.h"

#include <string.h>

/* Returns an element of a list. */
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
    for (size_t i = 0; tuple != NULL && i < value->count; i++)
        sequence_put(&tuple, i, element_at(value, i));
    return tuple;
}

/* Returns an array as bytes, or None for null. Returns null with an exception. */
static PyObject *bytes_of(const void *array, size_t count, size_t element_bytes)
{
    return array != NULL ? PyBytes_FromStringAndSize(array, (Py_ssize_t)(count * element_bytes)) : Py_NewRef(Py_None);
}

PyObject *file_ngram_spec(const inlay_ngram_spec *spec)
{
    /* N steals references and fails on null. */
    return Py_BuildValue("{s:n,s:I,s:s,s:N,s:N,s:I,s:N,s:N,s:N,s:O}", "vocab", (Py_ssize_t)spec->vocab, "length",
                         (unsigned)spec->length, "mix", spec->mix == INLAY_NGRAM_MIX_XOR ? "xor" : "add", "columns",
                         bytes_of(spec->columns, spec->column_count, sizeof *spec->columns), "multipliers",
                         bytes_of(spec->multipliers, spec->vectors * spec->length, sizeof *spec->multipliers), "pad",
                         (unsigned)spec->pad, "token_map",
                         bytes_of(spec->token_map, spec->vocab, sizeof *spec->token_map), "resets",
                         bytes_of(spec->resets, spec->reset_count, sizeof *spec->resets), "masks",
                         bytes_of(spec->masks, spec->mask_count, sizeof *spec->masks), "zero_is_none",
                         spec->zero_is_none ? Py_True : Py_False);
}
