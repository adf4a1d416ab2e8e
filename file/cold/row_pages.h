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

/** What a row takes of an array of its table. */
struct inlay_row_part {
    size_t stride, bytes; /**< bytes between rows, and of a row; 0: the table has no such array */
};

/** The rows of a call. */
struct inlay_rows {
    const inlay_table *table;
    const void *ids; /**< [count] of id_type */
    inlay_id_type id_type;
    size_t count;
    size_t page;                    /**< bytes of a page, a power of two */
    struct inlay_row_part parts[2]; /**< of data and scales */
};

/** Returns the rows of a call. Nothing is checked but ids where they are used. */
struct inlay_rows inlay_rows_of(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count,
                                size_t page);

/** Returns whether ids can have that type. */
bool inlay_is_id_type(inlay_id_type type);

/** Returns about how many pages a row takes: those of its data, at least one. */
static inline size_t inlay_pages_per_row(const inlay_table *table, size_t page)
{
    return table->stride_bytes <= page ? 1 : table->stride_bytes / page;
}

/**
 * Requests the pages of rows from `first` on.
 *
 * @param most   pages to request at most, unless a single row takes more
 * @param pages  the number of pages that were requested is added to it
 * @return       the index of the first row that was not requested
 */
size_t inlay_rows_request(const struct inlay_rows *rows, size_t first, size_t most, size_t *pages);

/** Reads a byte of each page of the rows [first, end), and waits for those that the disk has to deliver. */
void inlay_rows_touch(const struct inlay_rows *rows, size_t first, size_t end);
