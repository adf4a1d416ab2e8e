/* SPDX-License-Identifier: MIT */
/*
 * Whole calls of n-grams, drawn from a source of choices as in calls.h: specs, batches with histories, tables and
 * outputs, with every array adjacent to a guard page. They are compared with the definition in ngram.h as plain loops,
 * which share no code with src/.
 */
#pragma once

#include "ngrams/ngram_call.h"

/* Makes the arenas. */
void ngrams_prepare(void);

/* Draws a call that is valid except for ids, histories, offsets and accepted tokens, and its expected result.
   ngram_end() releases it. */
void ngram_draw(struct ngram_call *call, struct source *source);
void ngram_end(struct ngram_call *call);

/* Runs row ids, forward and history on the kernels in use. Returns null if the results are as expected and nothing else
   was written, otherwise an error text. */
const char *ngram_check(struct ngram_call *call, struct source *source);

/* Returns the expected row of a token and a column of the spec, or -1 for none. */
int64_t ngram_expected_row(const struct ngram_call *call, size_t token, size_t column);

/* The arrays of the batch, for tests that rewrite them: their number, and array i with its elements. */
enum { NGRAM_ARRAYS = 5 };
size_t ngram_array(const struct ngram_call *call, size_t i, void **array, inlay_id_type *type);

/* Runs row ids and forward, and only checks that both stay within their outputs. */
bool ngram_stays_in_rows(struct ngram_call *call, const inlay_executor *executor, inlay_status *status);
