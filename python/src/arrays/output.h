/* SPDX-License-Identifier: MIT */
/*
 * Results: arrays of the caller, or new ones, whose memory comes from the pool and returns to it when the last array,
 * view or tensor that uses it is gone.
 */
#pragma once

#include "abi.h"
#include "arrays/dtype.h"
#include "arrays/view.h"

/* Where a call writes. */
struct output {
    char *data;
    size_t stride_bytes; /* distance between rows */
    PyObject *array;     /* the caller's array or a new one of NumPy; null for other frameworks until it is finished */
    PyObject *memory;    /* an object that owns memory of the pool; null: the array has its own */
    struct view given;   /* the view of the caller's array */
    bool versioned;      /* `array` is a tensor of PyTorch, which counts its changes */
};

/* Opens the output of a call: `out` if it is neither null nor None, else a new array, for which `way` and `dtype` say
   what it is. The last of `dims` dimensions is that of a row. Returns -1 with an exception, and then there is nothing
   to close. */
int output_open(struct output *output, PyObject *out, enum view_way way, enum dtype dtype, int dims,
                const Py_ssize_t *shape);

/* Closes an output: returns the result of the call, of the framework that `like` belongs to, or null with an
   exception. */
PyObject *output_close(struct output *output, enum view_way way, PyObject *like);

/* Closes two outputs, and returns a tuple of their results, or null with an exception. */
PyObject *output_close_pair(struct output outputs[2], enum view_way way, PyObject *like);

/* Closes an output without a result, after an error. Returns null. */
PyObject *output_abandon(struct output *output);

/* output_zeros(shape, like): a new float32 array of zeros in memory of the pool, of the framework of `like`. */
PyObject *output_zeros(PyObject *module, PyObject *args);

/* Returns how new results are made that follow no argument: arrays of NumPy, or memoryviews without it. */
enum view_way output_default_way(void);

/* Adds the type of memory to the module. Returns -1 with an exception. */
int output_init(PyObject *module);
