/* SPDX-License-Identifier: MIT */
/*
 * Python.h and the vectorcall protocol. CPython has the protocol since 3.9, but its names enter the limited API only in
 * 3.12, so a module for 3.11 declares them itself. No other file may include Python.h.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stddef.h>

#ifdef Py_LIMITED_API
#if Py_LIMITED_API + 0 < 0x030C0000
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
PyObject *PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *dict);
#endif
#endif

typedef PyObject *(*inlay_vectorcall)(PyObject *callable, PyObject *const *args, size_t count_and_flag,
                                      PyObject *names);

/* Returns the number of positional arguments: the highest bit of the count is a flag. */
static inline size_t inlay_positional(size_t count_and_flag)
{
    return count_and_flag & (SIZE_MAX >> 1);
}
