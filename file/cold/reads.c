/* SPDX-License-Identifier: MIT */
/*
 * Reads of tables larger than memory, with a caller's reader, or with a file's own reader and optional limit. If the
 * rows are in memory, a call costs two reads of the CPU's counter, or none if it has few pages, and a store every two
 * seconds. Otherwise pages are requested a window of rows ahead of reading a byte of each. The disk then always has
 * work, its queue never exceeds WINDOW_PAGES, and the caller's gather finds its rows in memory.
 */
#include "cold/advice.h"
#include "cold/row_pages.h"
#include "handle.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum {
    WINDOW_PAGES = 256, /* requested at once at most: more only wait, in a queue that other readers of the disk share */
    CALIBRATED_NS = 1000000000, /* after which a thread that waits between reading two clocks changes a tick by at most
                                   1 % */
    MIN_SLOW_TICKS = 10,        /* in INLAY_SLOW_NS: counters run at 1 MHz */
    MAX_SLOW_TICKS = 100000,    /* to 10 GHz */
};

/* After this many ticks (a second at 8 GHz), the clock is calibrated again even if its last measurement was far too
   high. */
#define MAX_TICKS ((uint64_t)1 << 33)

/* ---- Clock ------------------------------------------------------------------------------------------------------ */

/* A clock for calls of half a microsecond: the CPU's counter, converted to time only if a call was slow. Reading it
   takes 10 ns on a virtual machine where clock_gettime() takes 26. It only decides when pages are requested, so a
   counter that jumps costs time and nothing else. */

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns the time in ticks of unknown length. */
static uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return clock_ns();
#endif
}

/* Returns the ticks of INLAY_SLOW_NS at time `now`, and measures them again every few seconds: a clock jumps when the
   machine sleeps or the process migrates. Then two measurements disagree, and the next one starts from scratch. */
static size_t slow_ticks(inlay_file_reader *reader, uint64_t now)
{
    const size_t known = __atomic_load_n(&reader->slow_ticks, __ATOMIC_RELAXED);
    uint64_t start = __atomic_load_n(&reader->start_ticks, __ATOMIC_RELAXED);
    const uint64_t usual = (uint64_t)known * (2 * CALIBRATED_NS / INLAY_SLOW_NS);
    if (now - start < (usual < MAX_TICKS ? usual : MAX_TICKS))
        return known;
    const uint64_t now_ns = clock_ns(), ns = now_ns - __atomic_load_n(&reader->start_ns, __ATOMIC_RELAXED);
    const double measured = (double)INLAY_SLOW_NS * (double)(now - start) / (double)ns;
    const bool good = measured >= MIN_SLOW_TICKS && measured <= MAX_SLOW_TICKS;
    const bool agrees = known == 0 || (measured <= 2 * (double)known && 2 * measured >= (double)known);
    const size_t slow = good ? (size_t)measured : known > 0 ? known : INLAY_SLOW_NS;
    if (ns >= CALIBRATED_NS &&
        __atomic_compare_exchange_n(&reader->start_ticks, &start, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_store_n(&reader->start_ns, now_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&reader->slow_ticks, good && agrees ? slow : 0, __ATOMIC_RELAXED);
    }
    return slow;
}

/* ---- One call --------------------------------------------------------------------------------------------------- */

/* Times some rows of a call one by one and updates the reader. While requests are on, the pages of these rows are
   requested too: in a mapping with readahead, a page fault would read megabytes. Returns true if the pages of the call
   should be requested. */
static bool take_sample(inlay_file_reader *reader, const struct inlay_rows *rows, size_t pages_per_row)
{
    const size_t count = rows->count < INLAY_ADVICE_SAMPLE ? rows->count : INLAY_ADVICE_SAMPLE;
    const bool requests = inlay_advice_state(reader) == INLAY_ADVICE_ON;
    size_t slow_rows = 0, pages = 0;
    uint64_t before = clock_ticks();
    const size_t slow = slow_ticks(reader, before) * pages_per_row;
    for (size_t i = 0; i < count; i++) {
        const size_t row = (size_t)((uint64_t)rows->count * i / count);
        if (requests)
            inlay_rows_request(rows, row, 1, &pages);
        inlay_rows_touch(rows, row, row + 1);
        const uint64_t after = clock_ticks();
        slow_rows += after - before > slow;
        before = after;
    }
    return inlay_advice_sampled(reader, slow_rows);
}

/* Requests the pages of all rows, and waits for all except those of the last windows. Returns the number requested. */
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

/* ---- Readers ---------------------------------------------------------------------------------------------------- */

void inlay_file_reader_init(inlay_file_reader *reader)
{
    if (reader != NULL)
        *reader = (inlay_file_reader){.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE),
                                      .timed_pages = INLAY_ADVICE_TIMED,
                                      .start_ns = clock_ns(),
                                      .start_ticks = clock_ticks()};
}

inlay_file_status inlay_file_reader_begin(inlay_file_reader *reader, const inlay_table *table, const void *ids,
                                          inlay_id_type id_type, size_t count, inlay_file_read *read)
{
    if (reader == NULL || read == NULL || !inlay_rows_are_valid(table, ids, id_type, count))
        return INLAY_FILE_ERROR_ARGUMENT;
    *read = (inlay_file_read){0, 0, 0};
    if (reader->page_bytes == 0 || count == 0)
        return INLAY_FILE_OK;
    /* About as many pages as the data of a row has, at least one. */
    const size_t pages_per_row =
        table->stride_bytes > reader->page_bytes ? table->stride_bytes / reader->page_bytes : 1;
    const size_t pages = count * pages_per_row;
    const enum inlay_advice_step step = inlay_advice_next(reader, count);
    if (step == INLAY_ADVICE_NOTHING && pages < reader->timed_pages)
        return INLAY_FILE_OK;
    read->begin = clock_ticks();
    read->pages = pages;
    if (step == INLAY_ADVICE_NOTHING)
        return INLAY_FILE_OK;

    const struct inlay_rows rows = inlay_rows_of(table, ids, id_type, count, reader->page_bytes);
    if (step == INLAY_ADVICE_REQUEST || take_sample(reader, &rows, pages_per_row))
        read->requested = request_all(&rows);
    return INLAY_FILE_OK;
}

/* Records the time of a call and returns it, in units of INLAY_SLOW_NS. */
static double measure(inlay_file_reader *reader, const inlay_file_read *read)
{
    const uint64_t now = clock_ticks(), ticks = now - read->begin, slow = slow_ticks(reader, now);
    if (read->requested == 0)
        inlay_advice_measured(reader, ticks > slow * read->pages);
    return (double)ticks / (double)slow;
}

void inlay_file_reader_end(inlay_file_reader *reader, const inlay_file_read *read)
{
    if (reader != NULL && read != NULL && read->pages > 0)
        measure(reader, read);
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

void inlay_file_start_reads(inlay_file *file)
{
    if (file->options.memory != INLAY_FILE_MEMORY_MAPPED)
        return;
    inlay_file_reader_init(&file->reader);
    if (file->options.resident_bytes > 0)
        file->reader.timed_pages = 1; /* the cap counts what all calls can have made resident */
    inlay_cap_start(&file->cap, file->mappings, file->mapping_count, file->options.resident_bytes,
                    file->reader.page_bytes);
}

inlay_file_status inlay_file_prefetch(inlay_file *file, const inlay_table *table, const void *ids,
                                      inlay_id_type id_type, size_t count)
{
    if (file == NULL || !inlay_rows_are_valid(table, ids, id_type, count))
        return INLAY_FILE_ERROR_ARGUMENT;
    const size_t page = file->reader.page_bytes;
    if (page == 0)
        return INLAY_FILE_OK;
    const struct inlay_rows rows = inlay_rows_of(table, ids, id_type, count, page);
    size_t pages = 0;
    inlay_rows_request(&rows, 0, WINDOW_PAGES, &pages);
    return INLAY_FILE_OK;
}

inlay_file_status inlay_file_read_begin(inlay_file *file, const inlay_table *table, const void *ids,
                                        inlay_id_type id_type, size_t count, inlay_file_read *read)
{
    inlay_file_reader *reader = file != NULL ? &file->reader : NULL;
    return inlay_file_reader_begin(reader, table, ids, id_type, count, read);
}

void inlay_file_read_end(inlay_file *file, const inlay_file_read *read)
{
    if (file == NULL || read == NULL || read->pages == 0)
        return;
    const double intervals = measure(&file->reader, read);
    const int host_errno = errno;
    inlay_cap_grow(&file->cap, intervals);
    errno = host_errno;
}
