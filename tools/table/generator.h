/* SPDX-License-Identifier: MIT */
/*
 * The rows of `inlay table`: their positions, their frequencies, and their computation in chunks. Chunks are passed on
 * immediately, so memory use does not grow with the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"
#include "options/threads.h"
#include "table/options.h"

/** Makes the rows of one table, of a pair of cosines and sines, or of two tables to compare. */
struct generator {
    const struct table_options *options;
    size_t n;                                   /**< rows of a table, one per position */
    bool is_range;                              /**< positions are a range, not a list */
    int64_t first;                              /**< of a range */
    struct numbers list;                        /**< [n], unless a range */
    struct numbers short_factors, long_factors; /**< of LongRoPE */
    struct numbers frequencies;                 /**< radians per position; empty if the recipe computes them */
    double attention_factor;                    /**< of cosines and sines */
    inlay_sinusoid *sinusoid;
    inlay_sinusoid *other; /**< to compare with, or null */
    size_t shape[3];       /**< [rank], of the output */
    size_t rank;           /**< 3 with --rope, else 2 */
    size_t columns;
    size_t row_bytes;
    size_t chunk_rows;
    void *chunk[2];                 /**< [chunk_rows, columns] of the type, per table */
    const inlay_executor *executor; /**< null: one thread */
};

/** Reads the lists of positions, frequencies and factors in the options, and computes the frequencies of --rope. The
    generator must be zero before. */
int generator_read(const struct table_options *options, struct generator *g);

/** Prepares for making rows, once the lists have been read. */
int generator_start(struct generator *g);

/** Returns the position of a row. */
double generator_position(const struct generator *g, size_t row);

/** Makes rows [row, row + n) of every table, n <= chunk_rows, at the start of its chunk. */
int generator_make(struct generator *g, size_t row, size_t n);

/** Makes all rows of `tables` tables, one table after the other. Calls take() with the table and the rows of each
    chunk, and shows the progress of `what`. Stops at the first outcome other than DONE. */
int generator_run(struct generator *g, size_t tables, const char *what,
                  int (*take)(void *context, size_t table, size_t row, size_t n), void *context);
