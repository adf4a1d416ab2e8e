/* SPDX-License-Identifier: MIT */
/*
 * Pages are requested by madvise(MADV_WILLNEED), a call for each run of pages that follow each other. On a virtual disk
 * posix_fadvise() and process_madvise() with 256 runs in a call gave the same rows per second, within the scatter of
 * the disk; they need descriptors that stay open, and the second one a Linux of 2020.
 */
#include "cold/row_pages.h"

#include <string.h>
#include <sys/mman.h>

enum { PARTS = 2 }; /* data and scales; zero points, which no file has, are left to page faults */

static const size_t id_bytes[] = {[INLAY_ID_I32] = 4, [INLAY_ID_I64] = 8, [INLAY_ID_U8] = 1,
                                  [INLAY_ID_U16] = 2, [INLAY_ID_I16] = 2, [INLAY_ID_U32] = 4};

bool inlay_is_id_type(inlay_id_type type)
{
    return (unsigned)type < sizeof id_bytes / sizeof *id_bytes && id_bytes[type] > 0;
}

/* Returns the bytes that a row has in an array of scales. */
static size_t scale_bytes(const inlay_table *table)
{
    const bool has_scales = table->extents != NULL ? table->extents->scales != NULL : table->scales != NULL;
    if (!has_scales)
        return 0;
    if (table->group > 0)
        return table->dim / table->group * sizeof(float);
    return table->type == INLAY_E4M3_E8M0 ? table->dim / 32 : sizeof(float);
}

struct inlay_rows inlay_rows_of(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t count,
                                size_t page)
{
    const size_t scales = scale_bytes(table);
    const struct inlay_row_part data = {table->stride_bytes, inlay_table_row_bytes(table->type, table->dim)};
    return (struct inlay_rows){table, ids, id_type, count, page, {data, {scales, scales}}};
}

/* Returns ids[i], from any address, loaded once. */
static uint64_t id_at(const struct inlay_rows *rows, size_t i)
{
    const unsigned char *at = (const unsigned char *)rows->ids + i * id_bytes[rows->id_type];
    const bool is_signed = rows->id_type == INLAY_ID_I16 || rows->id_type == INLAY_ID_I32;
    const unsigned unused = 64 - 8 * (unsigned)id_bytes[rows->id_type];
    uint64_t id = 0;
    memcpy(&id, at, id_bytes[rows->id_type]);
    __asm__ volatile("" : "+r"(id)); /* not once to compare it and once more to use it */
    id <<= unused;
    return is_signed ? (uint64_t)((int64_t)id >> unused) : id >> unused;
}

/* Returns the arrays that hold a row, and its index there. */
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

/* Finds the bytes of each part of a row; empty runs for parts that the table does not have. Returns false, and no runs,
   for an id that is not in the table. */
static bool find_parts(const struct inlay_rows *rows, size_t i, struct run runs[PARTS])
{
    const inlay_table *table = rows->table;
    const uint64_t id = id_at(rows, i) - table->first_row;
    if (id >= table->rows)
        return false;
    size_t row = (size_t)id;
    const inlay_table_extent extent = extent_of(table, &row);
    const void *const arrays[PARTS] = {extent.data, extent.scales};
    for (size_t part = 0; part < PARTS; part++) {
        const struct inlay_row_part in = rows->parts[part];
        const uintptr_t begin = (uintptr_t)arrays[part] + row * in.stride;
        runs[part] = (struct run){begin, begin + in.bytes};
    }
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
    if (run.end > run.begin)
        madvise((void *)run.begin, run.end - run.begin, MADV_WILLNEED);
}

/* Returns whether a run begins in another one or right behind it. */
static bool continues(struct run run, struct run next)
{
    return run.begin <= next.begin && next.begin <= run.end;
}

/* Returns the bytes of a run behind the end of another one that it continues, or all of it. */
static size_t new_bytes(struct run run, struct run next)
{
    if (!continues(run, next))
        return next.end - next.begin;
    return next.end > run.end ? next.end - run.end : 0;
}

/* Returns a run with the pages of the next row. Those that continue it are joined; otherwise it is requested. */
static struct run join(struct run run, struct run next)
{
    if (continues(run, next))
        return (struct run){run.begin, run.end + new_bytes(run, next)};
    request(run);
    return next;
}

size_t inlay_rows_request(const struct inlay_rows *rows, size_t first, size_t most, size_t *pages)
{
    struct run pending[PARTS] = {{0, 0}}, next[PARTS];
    size_t i = first, taken = 0;
    for (; i < rows->count; i++) {
        size_t more = 0;
        if (!find_parts(rows, i, next))
            continue;
        for (size_t part = 0; part < PARTS; part++) {
            next[part] = pages_of(next[part], rows->page);
            more += new_bytes(pending[part], next[part]) / rows->page;
        }
        if (taken > 0 && taken + more > most)
            break;
        taken += more;
        for (size_t part = 0; part < PARTS; part++)
            pending[part] = join(pending[part], next[part]);
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
                /* No byte outside of the row: scales that were converted lie in memory of malloc's. */
                for (uintptr_t at = runs[part].begin; at < runs[part].end; at = (at & -rows->page) + rows->page)
                    (void)*(const volatile unsigned char *)at;
}
