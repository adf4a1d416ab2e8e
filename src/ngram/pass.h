/* SPDX-License-Identifier: MIT */
/*
 * The pass over the tokens of a batch of n-grams: cut into ranges of tokens, each of which runs in the guarded
 * floating-point environment of its thread.
 */
#pragma once

#include "ngram/batch.h"
#include "tile/moves.h"

struct inlay_ngram_pass {
    const struct inlay_ngram_input *input;
    size_t first_column, columns;
    unsigned char *out;
    size_t token_stride_bytes;
    const void *terms; /* of the function that computes a range of tokens */
    void (*run)(const struct inlay_ngram_pass *pass, size_t token, size_t end);
    struct inlay_moves moves;
    size_t parts; /* set by inlay_ngram_run() */
};

/* Checks a range of columns, of which *columns may be INLAY_NGRAM_COLUMNS_REST, and sets it to their number. Returns
   INLAY_OK or INLAY_ERROR_OPTION. */
inlay_status inlay_ngram_check_columns(const inlay_ngram *ngram, size_t first_column, size_t *columns);

/* Runs a pass that writes `row_bytes` for each token, of which there is at least one. */
void inlay_ngram_run(struct inlay_ngram_pass *pass, size_t row_bytes, const inlay_executor *executor);
