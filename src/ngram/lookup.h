/* SPDX-License-Identifier: MIT */
/*
 * The lookup of a forward call: the validation of its tables and of where rows of the output lie.
 */
#pragma once

#include "ngram/handle.h"
#include "table/view.h"

/* A lookup with every field validated. */
struct inlay_ngram_gather {
    inlay_ngram_lookup lookup; /* a copy, in which the numbers of columns and of bytes between them are what they mean;
                                  the tables are the caller's */
    inlay_tuning tuning;
    bool sums; /* the rows of a token are added up; else they are written one by one */
    size_t dim;
    size_t row_bytes;                 /* of the output */
    struct inlay_table_arrays arrays; /* from the first to the last byte of these arrays of all tables that are read */
};

/* Validates a lookup and fills in *gather. Returns INLAY_OK, or INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE or
   _OVERFLOW. */
inlay_status inlay_ngram_check_lookup(const inlay_ngram *ngram, const inlay_ngram_lookup *lookup,
                                      struct inlay_ngram_gather *gather);

/* Finds the bytes of an output of `tokens` tokens. Returns INLAY_OK, or INLAY_ERROR_NULL, _STRIDE or _OVERFLOW. */
inlay_status inlay_ngram_check_output(const struct inlay_ngram_gather *gather, const void *out, size_t tokens,
                                      size_t token_stride_bytes, struct inlay_extent *written);

/* Returns INLAY_OK, or INLAY_ERROR_OVERLAP if any table that is read, its view or the list of tables overlaps what is
   written. */
inlay_status inlay_ngram_check_tables_apart(const inlay_ngram *ngram, const struct inlay_ngram_gather *gather,
                                            struct inlay_extent written);
