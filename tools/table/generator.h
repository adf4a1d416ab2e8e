/* SPDX-License-Identifier: MIT */
/*
 * The rows of `inlay table`: their positions, their frequencies, and how they are computed: a chunk at a time, which is
 * passed on at once, so that memory does not grow with the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"
#include "options/threads.h"
#include "table/options.h"

/** What makes the rows of one table, of the two of cosines and sines, or of two that are compared. */
struct generator {
    const struct table_options *options;
    size_t n;                                   /**< rows of a table, one for each position */
    bool is_range;                              /**< of positions; otherwise they are a list */
    int64_t first;                              /**< of a range */
    struct numbers list;                        /**< [n], where it is no range */
    struct numbers short_factors, long_factors; /**< of LongRoPE */
    struct numbers frequencies;                 /**< radians per position; none where the recipe has its own */
    double attention_factor;                    /**< of cosines and sines */
    inlay_sinusoid *sinusoid;
    inlay_sinusoid *other; /**< that it is compared with, or null */
    size_t shape[3];       /**< [rank], of what is printed, written or drawn */
    size_t rank;           /**< 3 with --rope, else 2 */
    size_t columns;
    size_t row_bytes;
    size_t chunk_rows;
    void *chunk[2];                 /**< [chunk_rows, columns] of the type, for each table */
    const inlay_executor *executor; /**< null for one thread */
};

/** Reads the lists of positions, frequencies and factors that the options name, and computes the frequencies of --rope.
    The generator is zero before. */
int generator_read(const struct table_options *options, struct generator *g);

/** Gets ready to make rows, once the lists have been read. */
int generator_start(struct generator *g);

/** Returns the position of a row. */
double generator_position(const struct generator *g, size_t row);

/** Makes rows [row, row + n) of every table, n <= chunk_rows, at the beginning of its chunk. */
int generator_make(struct generator *g, size_t row, size_t n);

/** Makes all rows of `tables` tables, one table behind the other, calls take() for each chunk with the table and the
    rows that it holds, and shows the progress of `what`. Ends at the first outcome that is not DONE. */
int generator_run(struct generator *g, size_t tables, const char *what,
                  int (*take)(void *context, size_t table, size_t row, size_t n), void *context);
