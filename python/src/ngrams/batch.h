/* SPDX-License-Identifier: MIT */
/*
 * The common part of all calls of an NGram: ids, the ids before them, and a range of columns. Arguments become a batch.
 * The library checks the contents of arrays; a fault becomes an exception that names the value and its index.
 */
#pragma once

#include "abi.h"
#include "arrays/view.h"
#include "module/arguments.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* Properties of an NGram that its calls use. */
struct ngram_facts {
    const inlay_ngram *handle;
    size_t vocab, columns;
    uint32_t length;                  /* length of the longest n-gram */
    const inlay_ngram_column *column; /* [columns] */
    PyObject *tables;                 /* default tables of calls, or null */
};

/* The arguments of all three kinds of calls. Only row calls take tables; only history calls take accepted. */
enum ngram_argument {
    NGRAM_IDS,
    NGRAM_TABLES,
    NGRAM_ACCEPTED = NGRAM_TABLES,
    NGRAM_OUT,
    NGRAM_OUT_LENGTHS,
    NGRAM_OFFSETS,
    NGRAM_HISTORY,
    NGRAM_HISTORY_LENGTHS,
    NGRAM_FIRST_COLUMN,
    NGRAM_COLUMNS,
    NGRAM_DTYPE,
    NGRAM_SCALE,
    NGRAM_COMBINE,
    NGRAM_PLANAR,
    NGRAM_STORES,
    NGRAM_THREADS,
    NGRAM_ARGUMENTS,
};

/* A batch and its arrays. Views of arrays that aren't given are zeros. */
struct ngram_call {
    const struct ngram_facts *ngram;
    inlay_ngram_batch batch;
    size_t tokens;
    struct view ids, offsets, history, lengths, accepted;
    bool alone;                            /* ids is one sequence: it has no dimension for sequences */
    int lead;                              /* number of dimensions of arrays with one number per sequence */
    Py_ssize_t lead_shape[VIEW_DIMS];      /* shape of these arrays */
    size_t first_column, columns, threads; /* threads 0: the package's default */
};

/* Makes the batch of a call. On error, returns -1 with an exception; don't call ngram_batch_end() then. */
int ngram_batch_begin(struct ngram_call *call, const struct ngram_facts *ngram,
                      PyObject *const arguments[NGRAM_ARGUMENTS]);

/* Releases the arrays of a batch. */
void ngram_batch_end(struct ngram_call *call);

/* Reads an array with one number per sequence, or one history if `rows` is true. Returns -1 with an exception set on
   failure. */
int ngram_by_sequence(struct ngram_call *call, struct view *view, PyObject *array, const char *what, bool rows);

/* Sets the exception of a call that failed. Returns null. */
PyObject *ngram_raise(const struct ngram_call *call, inlay_status status, const inlay_fault *fault);
