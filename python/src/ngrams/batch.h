/* SPDX-License-Identifier: MIT */
/*
 * What every call of an n-gram handle has: ids, the ids before them, and a range of columns. Arguments as Python gives
 * them become a batch; the library checks what the arrays contain, and a fault becomes an exception that names the
 * value and its place.
 */
#pragma once

#include "abi.h"
#include "arrays/view.h"
#include "module/arguments.h"

#include <inlay/inlay.h>

#include <stdbool.h>

/* What a call needs to know of its handle. */
struct ngram_facts {
    const inlay_ngram *handle;
    size_t vocab, columns;
    uint32_t length;                  /* N of the longest n-gram */
    const inlay_ngram_column *column; /* [columns] */
    PyObject *tables;                 /* of calls that are given none; null: there are none */
};

/* The arguments of all three kinds of calls. Rows have tables, histories have accepted. */
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

/* A batch, and the arrays that it is made of. Views of zeros are arrays that are absent. */
struct ngram_call {
    const struct ngram_facts *ngram;
    inlay_ngram_batch batch;
    size_t tokens;
    struct view ids, offsets, history, lengths, accepted;
    bool alone;                            /* ids is one sequence and has no dimension for it */
    int lead;                              /* dimensions of arrays with a number for each sequence */
    Py_ssize_t lead_shape[VIEW_DIMS];      /* and their lengths */
    size_t first_column, columns, threads; /* threads 0: those of the package */
};

/* Makes the batch of a call. Returns -1 with an exception, and then there is nothing to end. */
int ngram_batch_begin(struct ngram_call *call, const struct ngram_facts *ngram,
                      PyObject *const arguments[NGRAM_ARGUMENTS]);

/* Releases the arrays of a batch. */
void ngram_batch_end(struct ngram_call *call);

/* Reads an array with a number, or a history if `rows`, for each sequence. Returns -1 with an exception. */
int ngram_by_sequence(struct ngram_call *call, struct view *view, PyObject *array, const char *what, bool rows);

/* Sets the exception of a call that failed. Returns null. */
PyObject *ngram_raise(const struct ngram_call *call, inlay_status status, const inlay_fault *fault);
