/* SPDX-License-Identifier: MIT */
/*
 * The rows of `inlay table`: their positions, frequencies and computation. Rows are computed in chunks that are passed
 * on immediately, so memory use doesn't grow with the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"
#include "options/threads.h"
#include "table/options.h"

/** Makes the rows of one table, of the cosines and sines of a rotary table, or of two tables to compare. */
struct generator {
    const struct table_options *options;
    size_t n;                                   /**< rows of a table, one per position */
    bool is_range;                              /**< positions are a range, not a list */
    int64_t first;                              /**< first position of a range */
    struct numbers list;                        /**< [n] positions, unless they are a range */
    struct numbers short_factors, long_factors; /**< of LongRoPE */
    struct numbers frequencies;                 /**< radians per position; empty if the recipe computes them */
    double attention_factor;                    /**< factor of cosines and sines */
    inlay_sinusoid *sinusoid;
    inlay_sinusoid *other; /**< the table to compare with, or null */
    size_t shape[3];       /**< [rank], shape of the output */
    size_t rank;           /**< 3 with --rope, else 2 */
    size_t columns;
    size_t row_bytes;
    size_t chunk_rows;
    void *chunk[2];                 /**< for each table, [chunk_rows, columns] of the output type */
    const inlay_executor *executor; /**< null: one thread */
};

/** Reads the lists of positions, frequencies and factors in the options, and computes the frequencies of --rope. The
    generator must be zero before. */
int generator_read(const struct table_options *options, struct generator *g);

/** Prepares for making rows, once the lists have been read. */
int generator_start(struct generator *g);

/** Returns the position of a row. */
double generator_position(const struct generator *g, size_t row);

/** Makes rows [row, row + n) of every table, with n <= chunk_rows. Writes them to the start of the table's chunk. */
int generator_make(struct generator *g, size_t row, size_t n);

/** Makes all rows of `tables` tables, one table after the other. Calls take() for each chunk, and shows the progress of
    `what`. Stops at the first outcome that isn't DONE. */
int generator_run(struct generator *g, size_t tables, const char *what,
                  int (*take)(void *context, size_t table, size_t row, size_t n), void *context);
