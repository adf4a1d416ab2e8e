/* SPDX-License-Identifier: MIT */
/*
 * The lookup of a forward call: validation of its tables and of the output's layout.
 */
#pragma once

#include "ngram/handle.h"
#include "table/view.h"

/* A lookup with every field validated. */
struct inlay_ngram_gather {
    inlay_ngram_lookup lookup; /* a copy, with the defaults of `columns` and `column_stride_bytes` filled in; the tables
                                  are the caller's */
    inlay_tuning tuning;
    bool sums; /* the rows of a token are added, not concatenated */
    size_t dim;
    size_t row_bytes;                 /* of the output */
    struct inlay_table_arrays arrays; /* the extent of each kind of array over all tables that are read */
};

/* Validates a lookup and fills in *gather. Returns INLAY_OK, or INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE or
   _OVERFLOW. */
inlay_status inlay_ngram_check_lookup(const inlay_ngram *ngram, const inlay_ngram_lookup *lookup,
                                      struct inlay_ngram_gather *gather);

/* Computes the extent of an output of `tokens` tokens. Returns INLAY_OK, or INLAY_ERROR_NULL, _STRIDE or _OVERFLOW. */
inlay_status inlay_ngram_check_output(const struct inlay_ngram_gather *gather, const void *out, size_t tokens,
                                      size_t token_stride_bytes, struct inlay_extent *written);

/* Returns INLAY_ERROR_OVERLAP if `written` overlaps any table that is read, its struct or the table list, else
   INLAY_OK. */
inlay_status inlay_ngram_check_tables_apart(const inlay_ngram *ngram, const struct inlay_ngram_gather *gather,
                                            struct inlay_extent written);
