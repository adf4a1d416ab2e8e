/* SPDX-License-Identifier: MIT */
/*
 * Values one by one. Bytes of GGUF strings that are not UTF-8 become U+FFFD.
 */
#include "files/value.h"

#include "module/objects.h"

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
    for (size_t i = 0; tuple != NULL && i < value->count; i++)
        sequence_put(&tuple, i, element_at(value, i));
    return tuple;
}

PyObject *file_ngram_spec(const inlay_ngram_spec *spec)
{
    const size_t numbers = spec->vectors * spec->length;
    /* y# makes bytes, and None of null. */
    return Py_BuildValue(
        "{s:n,s:I,s:s,s:y#,s:y#,s:I,s:y#,s:y#,s:y#,s:O}", "vocab", (Py_ssize_t)spec->vocab, "length",
        (unsigned)spec->length, "mix", spec->mix == INLAY_NGRAM_MIX_XOR ? "xor" : "add", "columns", spec->columns,
        (Py_ssize_t)(spec->column_count * sizeof *spec->columns), "multipliers", spec->multipliers,
        (Py_ssize_t)(numbers * sizeof *spec->multipliers), "pad", (unsigned)spec->pad, "token_map", spec->token_map,
        (Py_ssize_t)(spec->vocab * sizeof *spec->token_map), "resets", spec->resets,
        (Py_ssize_t)(spec->reset_count * sizeof *spec->resets), "masks", spec->masks,
        (Py_ssize_t)(spec->mask_count * sizeof *spec->masks), "zero_is_none", spec->zero_is_none ? Py_True : Py_False);
}
