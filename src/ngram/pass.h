/* SPDX-License-Identifier: MIT */
/*
 * The pass over the tokens of a batch of n-grams. Splits it into ranges of tokens, each of which runs in its thread's
 * guarded floating-point environment.
 */
#pragma once

#include "ngram/batch.h"
#include "tile/transfer.h"

struct inlay_ngram_pass {
    const struct inlay_ngram_input *input;
    size_t first_column, columns;
    unsigned char *out;
    size_t token_stride_bytes;
    const void *terms; /* argument of `run` */
    void (*run)(const struct inlay_ngram_pass *pass, size_t token, size_t end);
    struct inlay_transfers transfers;
    size_t parts; /* set by inlay_ngram_run() */
};

/* Checks a range of columns. Replaces INLAY_NGRAM_ALL_COLUMNS in *columns by their number. Returns INLAY_OK or
   INLAY_ERROR_OPTION. */
inlay_status inlay_ngram_check_columns(const inlay_ngram *ngram, size_t first_column, size_t *columns);

/* Runs a pass over at least one token; each writes `row_bytes`. */
void inlay_ngram_run(struct inlay_ngram_pass *pass, size_t row_bytes, const inlay_executor *executor);
