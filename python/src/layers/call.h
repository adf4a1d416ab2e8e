/* SPDX-License-Identifier: MIT */
/*
 * One call of a layer: its arguments as Python gives them, and what becomes of them.
 */
#pragma once

#include "abi.h"
#include "arrays/output.h"
#include "arrays/view.h"
#include "files/open_file.h"
#include "module/arguments.h"

#include <inlay/inlay.h>

/* What a call needs to know of its layer. */
struct layer_facts {
    const inlay_layer *handle;
    Py_ssize_t dim;
    enum dtype dtype;
    size_t threads;           /* 0: as many as inlay.set_num_threads() said */
    int64_t start;            /* of calls that are told none */
    struct open_file *file;   /* that rows come from; null: they are in memory */
    const inlay_table *rows;  /* the table of these */
    Py_ssize_t table_rows[3]; /* of tokens, learned positions and segments; 0: absent */
    bool positioned, learned, segmented, pooled, skips;
};

enum argument {
    ARGUMENT_IDS,
    ARGUMENT_OUT,
    ARGUMENT_START,
    ARGUMENT_STARTS,
    ARGUMENT_OFFSETS,
    ARGUMENT_PADDED,
    ARGUMENT_POSITIONS,
    ARGUMENT_SEGMENTS,
    ARGUMENT_WEIGHTS,
    ARGUMENT_DROPOUT,
    ARGUMENT_KEY,
    ARGUMENT_STEP,
    ARGUMENTS,
};

/* A call that is ready to run. */
struct call {
    inlay_batch batch;
    struct output output;
    int dims; /* of the output */
    Py_ssize_t shape[VIEW_DIMS];
    struct view ids;
    bool has_more;
    struct {
        struct view starts, offsets, positions, segments, weights;
    } more; /* set only if `has_more`; zeros are arrays that are absent */
};

/* Prepares the names of the arguments. Returns -1 with an exception. */
int call_init(void);

/* Sorts the arguments of a vectorcall by name; absent ones are null. Returns -1 with TypeError. */
int call_sort(PyObject *sorted[ARGUMENTS_MOST], PyObject *const *args, size_t count, PyObject *names);

/* Reads the arguments and opens the output. Returns -1 with an exception, and then there is nothing to end. */
int call_begin(struct call *call, const struct layer_facts *layer, PyObject *const arguments[ARGUMENTS]);

/* Runs the call. Returns -1 with an exception. */
int call_run(struct call *call, const struct layer_facts *layer);

/* Adds to the gradients of tables. The output of the call is the gradient of its output, which is read. Returns -1 with
   an exception. */
int call_backward(struct call *call, const struct layer_facts *layer, const inlay_gradients *gradients);

/* Ends a call. Returns its result, or null if `failed`. */
PyObject *call_end(struct call *call, PyObject *like, bool failed);

/* Returns the plan of a call as a string, or null with an exception. */
PyObject *call_explain(struct call *call, const struct layer_facts *layer);
