/* SPDX-License-Identifier: MIT */
/*
 * Implements the helpers of objects.h.
 */
#include "module/objects.h"

#include <stdarg.h>

int type_add(PyObject *module, PyTypeObject **type, const char *name, size_t bytes, unsigned long flags,
             PyType_Slot *slots)
{
    PyType_Spec spec = {name, (int)bytes, 0, (unsigned)(Py_TPFLAGS_DEFAULT | flags), slots};
    *type = (PyTypeObject *)PyType_FromSpec(&spec);
    return *type != NULL ? PyModule_AddType(module, *type) : -1;
}

PyObject *python_call(const char *module, const char *function, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *tuple = Py_VaBuildValue(format, arguments);
    va_end(arguments);
    PyObject *imported = tuple != NULL ? PyImport_ImportModule(module) : NULL;
    PyObject *callable = imported != NULL ? PyObject_GetAttrString(imported, function) : NULL;
    PyObject *result = callable != NULL ? PyObject_CallObject(callable, tuple) : NULL;
    Py_XDECREF(callable);
    Py_XDECREF(imported);
    Py_XDECREF(tuple);
    return result;
}

void object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

void sequence_put(PyObject **sequence, size_t i, PyObject *item)
{
    if (item == NULL || *sequence == NULL) {
        Py_XDECREF(item);
        Py_CLEAR(*sequence);
    } else if (PyList_Check(*sequence)) {
        PyList_SetItem(*sequence, (Py_ssize_t)i, item);
    } else {
        PyTuple_SetItem(*sequence, (Py_ssize_t)i, item);
    }
}
