/* SPDX-License-Identifier: MIT */
/*
 * Exceptions for files. The library writes the messages, which name the file, the tensor and the values.
 */
#include "files/file_errors.h"

#include "module/errors.h"

#include <stdbool.h>

static PyObject *file_error; /* the class, set at import */

/* FileError.kind by status. */
static const char *const kinds[] = {
    [INLAY_FILE_ERROR_ARGUMENT] = "argument",   [INLAY_FILE_ERROR_KIND] = "kind",
    [INLAY_FILE_ERROR_TRUNCATED] = "truncated", [INLAY_FILE_ERROR_LIMIT] = "limit",
    [INLAY_FILE_ERROR_SYNTAX] = "syntax",       [INLAY_FILE_ERROR_DUPLICATE] = "duplicate",
    [INLAY_FILE_ERROR_RANGE] = "range",         [INLAY_FILE_ERROR_TYPE] = "type",
    [INLAY_FILE_ERROR_SHAPE] = "shape",         [INLAY_FILE_ERROR_MISSING] = "missing",
    [INLAY_FILE_ERROR_MODEL] = "model",
};

/* Sets an attribute to a string; an empty one is None. Returns -1 with an exception set on failure. */
static int set_text(PyObject *object, const char *name, const char *text)
{
    PyObject *string = Py_BuildValue("z", *text != 0 ? text : NULL);
    const int failed = string != NULL ? PyObject_SetAttrString(object, name, string) : -1;
    Py_XDECREF(string);
    return failed;
}

PyObject *raise_file_error(const inlay_file_error *error)
{
    if (error->status == INLAY_FILE_ERROR_NO_MEMORY)
        return PyErr_NoMemory();
    const bool system = error->status == INLAY_FILE_ERROR_SYSTEM;
    const bool known = (size_t)error->status < sizeof kinds / sizeof *kinds && kinds[error->status] != NULL;
    PyObject *exception = system ? PyObject_CallFunction(PyExc_OSError, "is", error->system_error, error->message)
                                 : PyObject_CallFunction(file_error, "s", error->message);
    if (exception != NULL && !system &&
        (set_text(exception, "kind", known ? kinds[error->status] : "") < 0 ||
         set_text(exception, "name", error->name) < 0))
        Py_CLEAR(exception);
    raise_object(exception);
    return NULL;
}

int file_errors_init(PyObject *module)
{
    file_error = PyErr_NewExceptionWithDoc(
        "inlay.FileError", "An invalid model file. kind is the error in one word, and name the tensor or key, or None.",
        PyExc_ValueError, NULL);
    return file_error != NULL ? PyModule_AddObjectRef(module, "FileError", file_error) : -1;
}
