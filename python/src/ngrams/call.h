/* SPDX-License-Identifier: MIT */
/*
 * The calls of an n-gram handle: row ids, gathered rows, and histories.
 */
#ifndef INLAY_PYTHON_NGRAMS_CALL_H
#define INLAY_PYTHON_NGRAMS_CALL_H

#include "abi.h"
#include "module/arguments.h"
#include "ngrams/batch.h"

/* The names of these arguments in each kind of call. */
extern struct arguments ngram_ids_arguments, ngram_rows_arguments, ngram_history_arguments;

/* Returns row ids [..., columns], or null with an exception. */
PyObject *ngram_call_ids(const struct ngram_facts *ngram, PyObject *const arguments[NGRAM_ARGUMENTS]);

/* Returns rows [..., columns * dim], [columns, ..., dim] or [..., dim], or null with an exception. */
PyObject *ngram_call_rows(const struct ngram_facts *ngram, PyObject *const arguments[NGRAM_ARGUMENTS]);

/* Returns a tuple of the histories for the next call and their lengths, or null with an exception. */
PyObject *ngram_call_history(const struct ngram_facts *ngram, PyObject *const arguments[NGRAM_ARGUMENTS]);

#endif
