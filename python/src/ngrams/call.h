/* SPDX-License-Identifier: MIT */
/*
 * The calls of an NGram: row ids, gathered rows, and histories.
 */
#pragma once

#include "abi.h"
#include "ngrams/batch.h"

enum ngram_call_kind {
    NGRAM_IDS_CALL,     /* row ids [..., columns] */
    NGRAM_ROWS_CALL,    /* rows [..., columns * dim], [columns, ..., dim] or [..., dim] */
    NGRAM_HISTORY_CALL, /* a tuple of the histories for the next call and their lengths */
    NGRAM_CALLS,
};

/* Prepares the names of arguments. Returns -1 with an exception set on failure. */
int ngram_call_init(void);

/* Returns a tuple of Tables from one table or a list. The list may have None for tables that no column uses. Returns
   null with an exception set on failure. */
PyObject *ngram_tables(PyObject *given);

/* Returns the result of a vectorcall, or null with an exception set. */
PyObject *ngram_call_run(const struct ngram_facts *ngram, enum ngram_call_kind kind, PyObject *const *args,
                         size_t count, PyObject *names);
