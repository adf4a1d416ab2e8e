/* SPDX-License-Identifier: MIT */
/*
 * Exceptions.
 */
#include "errors.h"

#include "view.h"

PyObject *raise_status(inlay_status status)
{
    if (status == INLAY_ERROR_NO_MEMORY)
        return PyErr_NoMemory();
    const bool index = status == INLAY_ERROR_ID || status == INLAY_ERROR_POSITION || status == INLAY_ERROR_SEGMENT;
    PyErr_SetString(index ? PyExc_IndexError : PyExc_ValueError, inlay_status_string(status));
    return NULL;
}

PyObject *raise_index(const char *what, int64_t value, size_t index, int dims, const Py_ssize_t *shape,
                      const char *where)
{
    Py_ssize_t place[VIEW_DIMS];
    for (int i = dims - 1; i >= 0; i--) {
        const size_t length = shape[i] > 0 ? (size_t)shape[i] : 1;
        place[i] = (Py_ssize_t)(index % length);
        index /= length;
    }
    if (dims == 0)
        return PyErr_Format(PyExc_IndexError, "%s %lld is not in %s", what, (long long)value, where);
    PyObject *text = shape_text(dims, place);
    if (text != NULL)
        PyErr_Format(PyExc_IndexError, "%s %lld at %U is not in %s", what, (long long)value, text, where);
    Py_XDECREF(text);
    return NULL;
}
