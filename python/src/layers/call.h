/* SPDX-License-Identifier: MIT */
/*
 * A call of a layer, from its Python arguments to its result.
 */
#pragma once

#include "abi.h"
#include "arrays/output.h"
#include "arrays/view.h"
#include "files/open_file.h"
#include "module/arguments.h"

#include <inlay/inlay.h>

/* Properties of a layer that its calls use. */
struct layer_facts {
    const inlay_layer *handle;
    Py_ssize_t dim;
    enum dtype dtype;
    size_t threads;           /* 0: the number set by inlay.set_num_threads() */
    int64_t start;            /* default for calls */
    struct open_file *file;   /* file with the token rows; null: they are in memory */
    const inlay_table *rows;  /* token table in `file` */
    Py_ssize_t table_rows[3]; /* rows of the tables of tokens, positions and segments; 0: no table */
    bool positioned, learned, pooled, skips;
};

enum argument {
    ARGUMENT_IDS,
    ARGUMENT_OUT,
    ARGUMENT_START,
    ARGUMENT_STARTS,
    ARGUMENT_OFFSETS,
    ARGUMENT_PADDED,
    ARGUMENT_POSITION_IDS,
    ARGUMENT_SEGMENT_IDS,
    ARGUMENT_WEIGHTS,
    ARGUMENT_DROPOUT,
    ARGUMENT_SEED,
    ARGUMENT_STEP,
    ARGUMENT_TOKEN_TYPE_IDS, /* transformers' name for segment_ids */
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
    } more; /* set only if `has_more`; views of absent arguments are zeroed */
};

/* The arguments of a call, for arguments_init() and arguments_sort(). */
extern struct arguments call_arguments;

/* Reads the arguments and opens the output. On error, returns -1 with an exception; don't call call_end() then. */
int call_begin(struct call *call, const struct layer_facts *layer, PyObject *const arguments[ARGUMENTS]);

/* Runs the call. With `gradients`, runs the backward pass instead: reads the gradient of the output from `out` and adds
   to the gradients of the tables. Returns -1 with an exception set on failure. */
int call_run(struct call *call, const struct layer_facts *layer, const inlay_gradients *gradients);

/* Ends a call. Returns its result, or null if `failed`. */
PyObject *call_end(struct call *call, PyObject *like, bool failed);

/* Returns the plan of a call as a string, or null with an exception set. */
PyObject *call_explain(struct call *call, const struct layer_facts *layer);
