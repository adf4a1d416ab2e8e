/* SPDX-License-Identifier: MIT */
/*
 * Pages are requested by madvise(MADV_WILLNEED), one call per run of consecutive pages. On a virtual disk,
 * posix_fadvise() and process_madvise() with 256 runs per call were equally fast, within the disk's noise. Both need
 * open descriptors, and the latter needs a Linux from 2020.
 */
#include "cold/row_pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PARTS = 3 }; /* data, scales, zero points */

static const size_t id_bytes[] = {[INLAY_ID_I32] = 4, [INLAY_ID_I64] = 8, [INLAY_ID_U8] = 1,
                                  [INLAY_ID_U16] = 2, [INLAY_ID_I16] = 2, [INLAY_ID_U32] = 4};

bool inlay_rows_are_valid(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count)
{
    const bool is_id_type = (unsigned)id_type < sizeof id_bytes / sizeof *id_bytes && id_bytes[id_type] > 0;
    return table != NULL && is_id_type && (ids != NULL || count == 0);
}

struct inlay_rows inlay_rows_of(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count,
                                size_t page)
{
    const void *scales = table->extents != NULL ? table->extents->scales : table->scales;
    const void *zeros = table->extents != NULL ? table->extents->zeros : table->zeros;
    return (struct inlay_rows){
        .table = table,
        .ids = ids,
        .id_type = id_type,
        .count = count,
        .page = page,
        .row_bytes = inlay_table_row_bytes(table->type, table->dim),
        .scale_bytes = scales != NULL ? inlay_table_scale_bytes(table->type, table->dim, table->group) : 0,
        /* Two rows: only INLAY_U4_GROUPED_FLAT has rows of half bytes. */
        .zero_halves = zeros != NULL ? inlay_table_zero_bytes(table->type, 2, table->dim, table->group) : 0,
    };
}

/* Returns ids[i], unaligned, loaded once. */
static uint64_t id_at(const struct inlay_rows *rows, size_t i)
{
    const unsigned char *at = (const unsigned char *)rows->ids + i * id_bytes[rows->id_type];
    const bool is_signed = rows->id_type == INLAY_ID_I16 || rows->id_type == INLAY_ID_I32;
    const unsigned unused = 64 - 8 * (unsigned)id_bytes[rows->id_type];
    uint64_t id = 0;
    memcpy(&id, at, id_bytes[rows->id_type]);
    __asm__ volatile("" : "+r"(id)); /* prevents a second load between the comparison and the use */
    id <<= unused;
    return is_signed ? (uint64_t)((int64_t)id >> unused) : id >> unused;
}

/* Returns the arrays that hold a row, and its index in them. */
static inlay_table_extent extent_of(const inlay_table *table, size_t *row)
{
    if (table->extents == NULL)
        return (inlay_table_extent){table->data, table->scales, table->zeros, 0};
    size_t first = 0, count = table->extent_count;
    while (count > 1) { /* the extent is one of [first, first + count) */
        const size_t half = count / 2;
        const bool later = table->extents[first + half].first_row <= *row;
        first += later ? half : 0;
        count = later ? count - half : half;
    }
    *row -= table->extents[first].first_row;
    return table->extents[first];
}

/* A run of bytes or of whole pages [begin, end), as addresses. */
struct run {
    uintptr_t begin, end;
};

static struct run bytes_at(const void *array, size_t offset, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)array + offset;
    return (struct run){begin, begin + bytes};
}

/* Computes the bytes of each part of a row; missing arrays have none. Returns false, and no runs, for an id that isn't
   in the table. */
static bool find_parts(const struct inlay_rows *rows, size_t i, struct run runs[PARTS])
{
    const inlay_table *table = rows->table;
    const uint64_t id = id_at(rows, i) - table->first_row;
    if (id >= table->rows)
        return false;
    size_t row = (size_t)id;
    const inlay_table_extent extent = extent_of(table, &row);
    runs[0] = bytes_at(extent.data, row * table->stride_bytes, rows->row_bytes);
    runs[1] = bytes_at(extent.scales, row * rows->scale_bytes, rows->scale_bytes);
    const size_t zeros = row * rows->zero_halves, zeros_end = zeros + rows->zero_halves;
    runs[2] = bytes_at(extent.zeros, zeros / 2, (zeros_end + 1) / 2 - zeros / 2);
    return true;
}

/* Returns the pages of a run of bytes, none for no bytes. */
static struct run pages_of(struct run bytes, size_t page)
{
    if (bytes.begin == bytes.end)
        return bytes;
    return (struct run){bytes.begin & -page, (bytes.end + page - 1) & -page};
}

static void request(struct run run)
{
    const int host_errno = errno;
    if (run.end > run.begin)
        madvise((void *)run.begin, run.end - run.begin, MADV_WILLNEED);
    errno = host_errno;
}

/* Returns the part of a run that the previous one doesn't cover: the rest after its end if the run starts within it or
   directly after it (possibly nothing), otherwise all. */
static struct run added_by(struct run next, struct run before)
{
    const bool continues = before.begin <= next.begin && next.begin <= before.end;
    if (!continues)
        return next;
    return (struct run){before.end, next.end > before.end ? next.end : before.end};
}

size_t inlay_rows_request(const struct inlay_rows *rows, size_t first, size_t most, size_t *pages)
{
    struct run pending[PARTS] = {{0, 0}}, runs[PARTS];
    size_t i = first, taken = 0;
    for (; i < rows->count; i++) {
        size_t more = 0;
        if (!find_parts(rows, i, runs))
            continue;
        for (size_t part = 0; part < PARTS; part++) {
            runs[part] = added_by(pages_of(runs[part], rows->page), pending[part]);
            more += (runs[part].end - runs[part].begin) / rows->page;
        }
        if (taken > 0 && taken + more > most)
            break;
        taken += more;
        for (size_t part = 0; part < PARTS; part++) {
            if (runs[part].begin != pending[part].end) {
                request(pending[part]);
                pending[part].begin = runs[part].begin;
            }
            pending[part].end = runs[part].end;
        }
    }
    for (size_t part = 0; part < PARTS; part++)
        request(pending[part]);
    *pages += taken;
    return i;
}

void inlay_rows_touch(const struct inlay_rows *rows, size_t first, size_t end)
{
    struct run runs[PARTS];
    for (size_t i = first; i < end; i++)
        if (find_parts(rows, i, runs))
            for (size_t part = 0; part < PARTS; part++)
                /* Touch no byte outside the row: converted scales are in malloc's memory. */
                for (uintptr_t at = runs[part].begin; at < runs[part].end; at = (at & -rows->page) + rows->page)
                    (void)*(const volatile unsigned char *)at;
}
