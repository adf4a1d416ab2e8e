/* SPDX-License-Identifier: MIT */
/*
 * The pages on which the rows of a table lie: requesting them from the disk without waiting for them, and reading a
 * byte of each. Ids come from the caller's memory, which other threads may change; each is loaded once and checked
 * where it is used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

/** The rows of a call. */
struct inlay_rows {
    const inlay_table *table;
    const void *ids; /**< [count] of id_type */
    inlay_id_type id_type;
    size_t count;
    size_t page;        /**< bytes of a page, a power of two */
    size_t row_bytes;   /**< of the data of a row */
    size_t scale_bytes; /**< of the scales of a row; 0: the table has no array of them */
    size_t zero_halves; /**< half bytes of the zero points of a row; 0: the table has none */
};

/** Returns the rows of a call. Nothing is checked but ids where they are used. */
struct inlay_rows inlay_rows_of(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count,
                                size_t page);

/** Returns whether there is a table, ids can have that type, and there are ids if they are counted. */
bool inlay_rows_are_valid(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count);

/**
 * Requests the pages of rows from `first` on. errno stays.
 *
 * @param most   pages to request at most, unless a single row takes more
 * @param pages  the number of pages that were requested is added to it
 * @return       the index of the first row that was not requested
 */
size_t inlay_rows_request(const struct inlay_rows *rows, size_t first, size_t most, size_t *pages);

/** Reads a byte of each page of the rows [first, end), and waits for those that the disk has to deliver. */
void inlay_rows_touch(const struct inlay_rows *rows, size_t first, size_t end);
