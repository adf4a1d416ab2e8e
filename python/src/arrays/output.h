/* SPDX-License-Identifier: MIT */
/*
 * Results: the caller's arrays, or new ones. New memory comes from the pool and returns to it with the last array, view
 * or tensor that uses it.
 */
#pragma once

#include "abi.h"
#include "arrays/dtype.h"
#include "arrays/view.h"

/* Where a call writes. */
struct output {
    char *data;
    size_t stride_bytes; /* distance between rows */
    PyObject *array;     /* the caller's array or a new NumPy array; null for other frameworks until closed */
    PyObject *memory;    /* owner of the pool's memory; null: the array owns its memory */
    struct view given;   /* view of the caller's array */
    bool versioned;      /* `array` is a PyTorch tensor, with a version counter */
};

/* Opens the output of a call: `out`, or a new array made by `way` if `out` is null or None. The last dimension runs
   along a row. On error, returns -1 with an exception set and leaves nothing to close. */
int output_open(struct output *output, PyObject *out, enum view_way way, enum dtype dtype, int dims,
                const Py_ssize_t *shape);

/* Same, but rows of `out` may have any strides, those of output->given. Rows of a new array are contiguous. */
int output_open_strided(struct output *output, PyObject *out, enum view_way way, enum dtype dtype, int dims,
                        const Py_ssize_t *shape);

/* Returns -1 with RuntimeError set for a PyTorch tensor that requires a gradient, which calls don't compute. `what`
   names it in errors. */
int output_check_gradient(PyObject *tensor, const char *what);

/* Closes an output. Returns it as an array of the same framework as `like`, or null with an exception set. */
PyObject *output_close(struct output *output, enum view_way way, PyObject *like);

/* Closes two outputs. Returns a tuple of their results, or null with an exception set. */
PyObject *output_close_pair(struct output outputs[2], enum view_way way, PyObject *like);

/* Closes an output after an error. Returns null. */
PyObject *output_abandon(struct output *output);

/* zeros(shape, like): returns a new float32 array of zeros from the pool, in the framework of `like`. */
PyObject *output_zeros(PyObject *module, PyObject *args);

/* Returns how to make results if no argument determines it: as NumPy arrays, or as memoryviews without NumPy. */
enum view_way output_default_way(void);

/* Adds the Output type to the module. Returns -1 with an exception set on failure. */
int output_init(PyObject *module);
