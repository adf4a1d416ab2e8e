/* SPDX-License-Identifier: MIT */
/*
 * Reads of tables larger than memory. A call whose rows are in memory costs two readings of the CPU's counter and no
 * store. Otherwise pages are requested a window of rows ahead of reading a byte of each, so that the disk always has
 * work, its queue is never longer than WINDOW_PAGES, and the caller's gather finds its rows in memory.
 */
#include "cold/residency.h"

#include "cold/row_pages.h"
#include "handle.h"

#include <errno.h>
#include <unistd.h>

enum {
    WINDOW_PAGES = 256, /* requested at once at most: more only wait, in a queue that other readers of the disk share */
    CALIBRATED_NS = 1000000000, /* after which a thread that waits between two clocks changes a tick by 1 % at most */
};

void inlay_residency_start(struct inlay_residency *residency, const struct inlay_mapping *mappings, size_t count,
                           size_t resident_bytes)
{
    if (count == 0 || mappings[0].memory != INLAY_FILE_MEMORY_MAPPED)
        return;
    residency->mappings = mappings;
    residency->count = count;
    residency->page = (size_t)sysconf(_SC_PAGESIZE);
    residency->opened = inlay_clock_now();
    inlay_cap_start(&residency->cap, mappings, count, resident_bytes, residency->page);
}

/* Returns the ticks of INLAY_SLOW_NS, at least one. */
static size_t slow_ticks(struct inlay_residency *residency)
{
    size_t slow = atomic_load_explicit(&residency->slow, memory_order_relaxed);
    if (slow > 0)
        return slow;
    const struct inlay_clock now = inlay_clock_now();
    slow = (size_t)inlay_clock_ticks_in(INLAY_SLOW_NS, residency->opened, now);
    slow = slow > 0 ? slow : 1;
    if (now.ns - residency->opened.ns >= CALIBRATED_NS)
        atomic_store_explicit(&residency->slow, slow, memory_order_relaxed);
    return slow;
}

/* Reads some rows of a call one by one and learns from their times. Returns whether to request the pages of the call.
 */
static bool take_sample(struct inlay_residency *residency, const struct inlay_rows *rows, size_t pages_per_row)
{
    const size_t count = rows->count < INLAY_ADVICE_SAMPLE ? rows->count : INLAY_ADVICE_SAMPLE;
    const size_t slow = slow_ticks(residency) * pages_per_row;
    size_t slow_rows = 0;
    uint64_t before = inlay_clock_ticks();
    for (size_t i = 0; i < count; i++) {
        const size_t row = (size_t)((uint64_t)rows->count * i / count);
        inlay_rows_touch(rows, row, row + 1);
        const uint64_t after = inlay_clock_ticks();
        slow_rows += after - before > slow;
        before = after;
    }
    return inlay_advice_sampled(&residency->advice, slow_rows);
}

/* Requests the pages of all rows, and waits for all but those of the last windows. Returns how many were requested. */
static size_t request_all(const struct inlay_rows *rows)
{
    size_t pages = 0, read = 0, requested = inlay_rows_request(rows, 0, WINDOW_PAGES / 2, &pages);
    while (requested < rows->count) {
        const size_t next = inlay_rows_request(rows, requested, WINDOW_PAGES / 2, &pages);
        inlay_rows_touch(rows, read, requested);
        read = requested;
        requested = next;
    }
    return pages;
}

static bool is_valid(const inlay_file *file, const inlay_table *table, const void *ids, inlay_id_type id_type,
                     size_t count)
{
    return file != NULL && table != NULL && inlay_is_id_type(id_type) && (ids != NULL || count == 0);
}

inlay_file_status inlay_file_prefetch(inlay_file *file, const inlay_table *table, const void *ids,
                                      inlay_id_type id_type, size_t count)
{
    if (!is_valid(file, table, ids, id_type, count))
        return INLAY_FILE_ERROR_ARGUMENT;
    const struct inlay_residency *residency = &file->residency;
    if (residency->mappings == NULL)
        return INLAY_FILE_OK;
    const int host_errno = errno;
    const struct inlay_rows rows = inlay_rows_of(table, ids, id_type, count, residency->page);
    size_t pages = 0;
    inlay_rows_request(&rows, 0, WINDOW_PAGES, &pages);
    errno = host_errno;
    return INLAY_FILE_OK;
}

inlay_file_status inlay_file_read_begin(inlay_file *file, const inlay_table *table, const void *ids,
                                        inlay_id_type id_type, size_t count, inlay_file_read *read)
{
    if (!is_valid(file, table, ids, id_type, count) || read == NULL)
        return INLAY_FILE_ERROR_ARGUMENT;
    struct inlay_residency *residency = &file->residency;
    *read = (inlay_file_read){0, 0, 0};
    if (residency->mappings == NULL || count == 0)
        return INLAY_FILE_OK;
    const size_t pages_per_row = inlay_pages_per_row(table, residency->page);
    read->begin = inlay_clock_ticks();
    read->pages = count * pages_per_row;
    const enum inlay_advice_step step = inlay_advice_next(&residency->advice, count);
    if (step == INLAY_ADVICE_NOTHING)
        return INLAY_FILE_OK;

    const int host_errno = errno;
    const struct inlay_rows rows = inlay_rows_of(table, ids, id_type, count, residency->page);
    if (step == INLAY_ADVICE_REQUEST || take_sample(residency, &rows, pages_per_row))
        read->requested = request_all(&rows);
    errno = host_errno;
    return INLAY_FILE_OK;
}

void inlay_file_read_end(inlay_file *file, const inlay_file_read *read)
{
    if (file == NULL || read == NULL || read->pages == 0)
        return;
    struct inlay_residency *residency = &file->residency;
    const uint64_t ticks = inlay_clock_ticks() - read->begin, slow = slow_ticks(residency);
    if (read->requested == 0)
        inlay_advice_measured(&residency->advice, ticks > slow * read->pages);
    if (residency->cap.bytes == 0)
        return;
    const int host_errno = errno;
    inlay_cap_grow(&residency->cap, residency->mappings, residency->count, (double)ticks / (double)slow);
    errno = host_errno;
}
