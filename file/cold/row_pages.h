/* SPDX-License-Identifier: MIT */
/*
 * Requests the pages of a table's rows from the disk without waiting, and reads a byte of each. Ids are in the caller's
 * memory, which other threads may change; each is loaded once and checked on use.
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

/** Returns the rows of a call. Nothing is checked; ids are checked on use. */
struct inlay_rows inlay_rows_of(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count,
                                size_t page);

/** Returns true if there is a table, id_type is valid, and ids is not null unless count is 0. */
bool inlay_rows_are_valid(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count);

/**
 * Requests the pages of rows from `first` on. Preserves errno.
 *
 * @param most   maximum number of pages to request, unless a single row takes more
 * @param pages  the number of requested pages is added to it
 * @return       the index of the first row that was not requested
 */
size_t inlay_rows_request(const struct inlay_rows *rows, size_t first, size_t most, size_t *pages);

/** Reads a byte of each page of the rows [first, end), waiting for those that come from the disk. */
void inlay_rows_touch(const struct inlay_rows *rows, size_t first, size_t end);
