/* SPDX-License-Identifier: MIT */
/*
 * Whole calls of n-grams, drawn from a source of choices as in calls.h: specs, batches with histories, tables and
 * outputs, every array against a guard page. They are compared with the definition in ngram.h as plain loops, which
 * share no code with src/.
 */
#pragma once

#include "ngrams/ngram_call.h"

/* Makes the arenas. */
void ngrams_prepare(void);

/* Draws a call, which is valid but for ids, histories, offsets and accepted tokens, and what it must come to.
   ngram_end() releases it. */
void ngram_draw(struct ngram_call *call, struct source *source);
void ngram_end(struct ngram_call *call);

/* Runs row ids, forward and history on the kernels in use. Returns null if they come to what is expected and wrote
   nothing else, otherwise a text that says what is wrong. */
const char *ngram_check(struct ngram_call *call, struct source *source);

/* Returns the expected row of a token and a column of the spec, -1 for none. */
int64_t ngram_expected_row(const struct ngram_call *call, size_t token, size_t column);

/* The arrays of the batch, for tests that rewrite them: how many there are, and array i with its elements. */
enum { NGRAM_ARRAYS = 5 };
size_t ngram_array(const struct ngram_call *call, size_t i, void **array, inlay_id_type *type);

/* Runs row ids and forward, and compares nothing but that both stay in their outputs. */
bool ngram_stays_in_rows(struct ngram_call *call, const inlay_executor *executor, inlay_status *status);
