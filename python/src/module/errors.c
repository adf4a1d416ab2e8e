/* SPDX-License-Identifier: MIT */
/*
 * Raises Python exceptions for the library's errors.
 */
#include "module/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Writes the text of index_text(), with another verb than "is not in". */
static void place_text(char text[ERROR_TEXT_BYTES], const char *what, int64_t value, size_t index, int dims,
                       const Py_ssize_t *shape, const char *verb, const char *where)
{
    Py_ssize_t place[VIEW_DIMS];
    for (int i = dims - 1; i >= 0; i--) {
        const size_t length = shape[i] > 0 ? (size_t)shape[i] : 1;
        place[i] = (Py_ssize_t)(index % length);
        index /= length;
    }
    size_t used = (size_t)snprintf(text, ERROR_TEXT_BYTES, "%s %lld", what, (long long)value);
    for (int i = 0; i < dims; i++)
        used += (size_t)snprintf(text + used, ERROR_TEXT_BYTES - used, "%s%zd%s", i == 0 ? " at [" : ", ", place[i],
                                 i == dims - 1 ? "]" : "");
    snprintf(text + used, ERROR_TEXT_BYTES - used, " %s %s", verb, where);
}

void index_text(char text[ERROR_TEXT_BYTES], const char *what, int64_t value, size_t index, int dims,
                const Py_ssize_t *shape, const char *where)
{
    place_text(text, what, value, index, dims, shape, "is not in", where);
}

bool status_names_index(inlay_status status)
{
    return status == INLAY_ERROR_ID || status == INLAY_ERROR_POSITION || status == INLAY_ERROR_SEGMENT;
}

size_t token_at(const int64_t *offsets, size_t length, const inlay_fault *fault)
{
    int64_t offset = (int64_t)(fault->sequence * length);
    if (offsets != NULL)
        memcpy(&offset, (const char *)(const void *)offsets + fault->sequence * sizeof offset, sizeof offset);
    return (size_t)offset + fault->token;
}

void fault_text(char text[ERROR_TEXT_BYTES], inlay_status status, const inlay_batch *batch, const inlay_fault *fault,
                int dims, const Py_ssize_t *shape, bool learned)
{
    const char *what = "position", *where = learned ? "the table of positions" : "[0, 2147483648)", *verb = "is not in";
    if (status == INLAY_ERROR_ID) {
        const bool pruned = strcmp(fault->reason, inlay_status_string(status)) != 0;
        what = "id";
        where = pruned ? "token_mapping" : "the table";
        verb = pruned ? "has no row in" : verb;
    } else if (status == INLAY_ERROR_SEGMENT) {
        what = "segment";
        where = "the table of segments";
    }
    place_text(text, what, fault->value, token_at(batch->offsets, batch->length, fault), dims, shape, verb, where);
}

int raise_error(PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(type, format, arguments);
    va_end(arguments);
    return -1;
}

int raise_memory(void)
{
    PyErr_NoMemory();
    return -1;
}

int raise_object(PyObject *exception)
{
    if (exception != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return -1;
}

PyObject *raise_status(inlay_status status)
{
    if (status == INLAY_ERROR_NO_MEMORY)
        return PyErr_NoMemory();
    PyErr_SetString(status_names_index(status) ? PyExc_IndexError : PyExc_ValueError, inlay_status_string(status));
    return NULL;
}

PyObject *raise_fault(inlay_status status, const inlay_fault *fault)
{
    return PyErr_Format(status_names_index(status) ? PyExc_IndexError : PyExc_ValueError, "%s: %s", fault->field,
                        fault->reason);
}

PyObject *raise_call(inlay_status status, const inlay_fault *fault, size_t tokens, bool padded)
{
    if (status == INLAY_ERROR_OFFSETS)
        return PyErr_Format(PyExc_ValueError,
                            "offsets[%zu] is %lld: offsets begin at 0, never decrease and end at the number "
                            "of tokens, %zu%s",
                            fault->sequence, (long long)fault->value, tokens,
                            padded ? ", and no sequence is longer than padded" : "");
    if (status == INLAY_ERROR_OVERLAP)
        return PyErr_Format(PyExc_ValueError, "out overlaps ids, another argument or a table");
    return raise_fault(status, fault);
}

PyObject *raise_index(const char *what, int64_t value, size_t index, int dims, const Py_ssize_t *shape,
                      const char *where)
{
    char text[ERROR_TEXT_BYTES];
    index_text(text, what, value, index, dims, shape, where);
    PyErr_SetString(PyExc_IndexError, text);
    return NULL;
}
