/* SPDX-License-Identifier: MIT */
/*
 * Validation of a table's view.
 */
#include "table/view.h"

#include "base/minmax.h"

#include <string.h>

/* The size of one row in each array of its table. */
struct row_sizes {
    size_t data_bytes;
    size_t scale_bytes; /* 0: the type has no such array */
};

/* Returns the row sizes of a table with valid type, dim and group. */
static struct row_sizes sizes_of(const inlay_table *table)
{
    return (struct row_sizes){
        .data_bytes = inlay_table_row_bytes(table->type, table->dim),
        .scale_bytes = inlay_table_scale_bytes(table->type, table->dim, table->group),
    };
}

/* Checks that the rows of extent i, or those of a table without extents, have the arrays of their type, and adds them
   to `arrays`, which is initially empty. Inlined, since in calls of one token every instruction counts. */
static inline __attribute__((always_inline)) inlay_status check_extent(const inlay_table *table,
                                                                       const struct row_sizes *sizes, size_t i,
                                                                       struct inlay_table_arrays *arrays,
                                                                       const char **reason)
{
    const inlay_table_extent extent = table->extents != NULL ? table->extents[i] : inlay_extent_of(table, 0);
    const size_t end = i + 1 < table->extent_count ? table->extents[i + 1].first_row : table->rows;
    const size_t rows = end - extent.first_row;
    const struct inlay_row_format *format = &inlay_row_formats[table->type];
    if ((sizes->scale_bytes == 0 && extent.scales != NULL) || (format->zeros_in_byte == 0 && extent.zeros != NULL)) {
        *reason = "its type has no such scales or zeros";
        return INLAY_ERROR_OPTION;
    }
    inlay_status status = inlay_check_rows(extent.data, rows, sizes->data_bytes, table->stride_bytes, &arrays->data);
    if (status != INLAY_OK || rows == 0 || sizes->scale_bytes == 0 || (extent.scales == NULL && format->optional))
        return status;
    status = inlay_check_rows(extent.scales, rows, sizes->scale_bytes, sizes->scale_bytes, &arrays->scales);
    if (status != INLAY_OK || extent.zeros == NULL)
        return status;
    /* Zero points are smaller than scales, so their bytes do not overflow. */
    const size_t bytes = inlay_table_zero_bytes(table->type, rows, table->dim, table->group);
    return inlay_check_array(extent.zeros, bytes, 1, &arrays->zeros);
}

/* Returns true if the extents cover the table's rows, each has rows, and their number matches extent_rows. */
static bool extents_hold_rows(const inlay_table *table)
{
    size_t before = 0;
    for (size_t i = 0; i < table->extent_count; i++) {
        const size_t first = table->extents[i].first_row;
        if (i == 0 ? first != 0 : first <= before || (table->extent_rows > 0 && first - before != table->extent_rows))
            return false;
        before = first;
    }
    return before < table->rows && (table->extent_rows == 0 || table->rows - before <= table->extent_rows);
}

/* Checks the extents of a table and adds their arrays to `arrays`, which is initially empty. Every n-gram lookup checks
   hundreds of extents, so their common fields are checked before. Not inlined, as most tables have no extents. */
static __attribute__((noinline)) inlay_status check_extents(const inlay_table *table, const struct row_sizes *sizes,
                                                            struct inlay_table_arrays *arrays, const char **reason)
{
    *reason = "its extents need a count, and exclude data, scales and zeros";
    if (table->extent_count == 0 || table->data != NULL || table->scales != NULL || table->zeros != NULL)
        return INLAY_ERROR_OPTION;
    *reason = NULL;
    inlay_status status =
        inlay_check_array(table->extents, table->extent_count, sizeof *table->extents, &arrays->extents);
    if (status == INLAY_OK && !extents_hold_rows(table)) {
        *reason = "its extents do not hold its rows";
        status = INLAY_ERROR_SHAPE;
    }
    for (size_t i = 0; i < table->extent_count && status == INLAY_OK; i++) {
        struct inlay_table_arrays one = {0};
        status = check_extent(table, sizes, i, &one, reason);
        if (status == INLAY_OK && (table->extents[i].zeros != NULL) != inlay_has_zeros(table)) {
            *reason = "some of its extents have zeros, others do not";
            status = INLAY_ERROR_OPTION;
        }
        inlay_reach_over_arrays(arrays, &one);
    }
    return status;
}

inlay_status inlay_check_table(const inlay_table *table, struct inlay_table_arrays *arrays, const char *field,
                               inlay_fault *fault)
{
    memset(arrays, 0, sizeof *arrays);
    if (!inlay_struct_known(table, sizeof *table))
        return inlay_blame(fault, INLAY_ERROR_OPTION, field, "its size " INLAY_SIZE_UNKNOWN);
    if (table->type < INLAY_F32 || table->type >= INLAY_ELEMENT_TYPES)
        return inlay_blame(fault, INLAY_ERROR_OPTION, field, "its type is not an inlay_element_type");
    const struct inlay_row_format *format = &inlay_row_formats[table->type];
    if (table->dim == 0 || (format->log2_columns > 1 && table->dim % ((size_t)1 << format->log2_columns) != 0))
        return inlay_blame(fault, INLAY_ERROR_SHAPE, field,
                           "its dim is 0, or not a multiple of the blocks of its type");
    const bool grouped = format->scales == INLAY_SCALES_PER_GROUP;
    const uint32_t group = table->group, least = grouped ? inlay_table_min_group(table->type) : 0;
    if (least > 0 ? group < least || group > 128 || (group & (group - 1)) != 0 : group != 0)
        return inlay_blame(fault, INLAY_ERROR_OPTION, field,
                           least == 32 ? "its group is not 32, 64 or 128, or not 0 for a type without groups"
                                       : "its group is not 16, 32, 64 or 128, or not 0 for a type without groups");
    const struct row_sizes sizes = sizes_of(table);
    if (sizes.data_bytes == 0)
        return inlay_blame(fault, INLAY_ERROR_OVERFLOW, field, NULL);
    const bool in_extents = table->extents != NULL || table->extent_count > 0 || table->extent_rows > 0;
    const char *reason = NULL;
    inlay_status status =
        in_extents ? check_extents(table, &sizes, arrays, &reason) : check_extent(table, &sizes, 0, arrays, &reason);
    if (status != INLAY_OK)
        return inlay_blame(fault, status, field, reason);
    /* With a vocabulary beyond INT64_MAX, negative ids would be taken for large ones. */
    const uint64_t vocab = table->vocab;
    size_t end;
    if (__builtin_add_overflow(table->first_row, table->rows, &end) || vocab > INT64_MAX)
        return inlay_blame(fault, INLAY_ERROR_OVERFLOW, field, NULL);
    if (vocab == 0 ? table->first_row != 0 : end > vocab)
        return inlay_blame(fault, INLAY_ERROR_SHAPE, field, "its rows are not within its vocab");
    return INLAY_OK;
}

bool inlay_table_overlaps(struct inlay_extent a, const inlay_table *table)
{
    const struct row_sizes sizes = sizes_of(table);
    bool overlaps =
        inlay_extents_overlap(a, inlay_bytes_at(table->extents, table->extent_count * sizeof *table->extents));
    const size_t count = inlay_max(table->extent_count, 1);
    for (size_t i = 0; i < count && !overlaps; i++) {
        struct inlay_table_arrays arrays = {0};
        const char *unused;
        check_extent(table, &sizes, i, &arrays, &unused);
        overlaps = inlay_arrays_overlap(a, &arrays);
    }
    return overlaps;
}

size_t inlay_extent_index(const inlay_table *table, size_t row)
{
    if (table->extent_rows > 0)
        return row / table->extent_rows;
    size_t first = 0, count = table->extent_count;
    while (count > 1) { /* the row is in one of extents [first, first + count) */
        const size_t half = count / 2;
        if (row >= table->extents[first + half].first_row) {
            first += half;
            count -= half;
        } else {
            count = half;
        }
    }
    return first;
}
