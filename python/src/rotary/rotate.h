/* SPDX-License-Identifier: MIT */
/*
 * A call of a Rotary, from its Python arguments to the rotated arrays.
 */
#pragma once

#include "abi.h"

#include <inlay/inlay.h>

/* Properties of a Rotary that its calls use. */
struct rotary_facts {
    const inlay_rotary *handle;
    Py_ssize_t dim, axes;
    size_t threads; /* 0: the number set by inlay.set_num_threads() */
};

/* Prepares the names of arguments. Returns -1 with an exception set on failure. */
int rotate_init(void);

/* Returns the result of a vectorcall: the rotated array, or a tuple if several were given. Returns null with an
   exception set on failure. */
PyObject *rotate_run(const struct rotary_facts *rotary, PyObject *const *args, size_t count, PyObject *names);

/* rotate_given(cos, sin, columns, heads_first, out, *arrays): rotates arrays by given cosines and sines, [1 or batch,
   length, dim] or [length, dim]. `columns` is "halves" or "interleaved", which also sets how cosines and sines repeat,
   or "interleaved_first": interleaved, and only the first dim / 2 of them count. Returns the results as rotate_run()
   does, or None if cosines or sines don't repeat. */
PyObject *rotate_given(PyObject *module, PyObject *const *args, Py_ssize_t count);
