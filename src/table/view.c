/* SPDX-License-Identifier: MIT */
/*
 * Validation of a table's view.
 */
#include "table/view.h"

#include <string.h>

/* Checks that the arrays beside the elements are those that the type has, and finds their extents. */
static inlay_status check_scales(const inlay_table *table, struct inlay_extent *scales, struct inlay_extent *zeros)
{
    const struct inlay_row_format *format = &inlay_row_formats[table->type];
    const bool grouped = format->scales == INLAY_SCALES_PER_GROUP;
    const bool scaled = format->scales != INLAY_SCALES_NONE && format->scales != INLAY_SCALES_IN_ROW;
    if (grouped ? table->group != 32 && table->group != 64 && table->group != 128 : table->group != 0)
        return INLAY_ERROR_OPTION;
    if ((!scaled && table->scales != NULL) || (!grouped && table->zeros != NULL))
        return INLAY_ERROR_OPTION;
    if (grouped && table->dim % table->group != 0)
        return INLAY_ERROR_SHAPE;
    if (!scaled || table->rows == 0 || (format->optional && table->scales == NULL))
        return INLAY_OK;
    const size_t row_bytes = inlay_row_scale_bytes(table);
    inlay_status status = inlay_check_rows(table->scales, table->rows, row_bytes, row_bytes, scales);
    if (status != INLAY_OK || table->zeros == NULL)
        return status;
    /* Zero points are as many as scales, whose bytes did not overflow. */
    const size_t row_scales = row_bytes / sizeof(float);
    if (table->type == INLAY_U4_GROUPED_FLAT)
        return inlay_check_array(table->zeros, (table->rows * row_scales + 1) / 2, 1, zeros);
    const size_t row_zero_bytes = (row_scales + 1) / 2;
    return inlay_check_rows(table->zeros, table->rows, row_zero_bytes, row_zero_bytes, zeros);
}

/* Returns a view of the rows of one extent. */
static inlay_table view_of_extent(const inlay_table *table, size_t i)
{
    const inlay_table_extent *extent = &table->extents[i];
    const size_t end = i + 1 < table->extent_count ? extent[1].first_row : table->rows;
    inlay_table view =
        inlay_table_of(table->type, extent->data, end - extent->first_row, table->dim, table->stride_bytes);
    view.group = table->group;
    view.scales = extent->scales;
    view.zeros = extent->zeros;
    return view;
}

/* Returns whether each extent has rows, all of them those of the table, and as many as extent_rows says. */
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

/* Makes a range of bytes reach over another one too. */
static void reach_over(struct inlay_extent *all, struct inlay_extent one)
{
    if (one.begin < one.end) {
        all->begin = all->begin == all->end || one.begin < all->begin ? one.begin : all->begin;
        all->end = one.end > all->end ? one.end : all->end;
    }
}

/* Checks the extents of a table, and finds the bytes of their arrays; `arrays` is empty before. Not inlined, as most
   tables have none. */
static __attribute__((noinline)) inlay_status check_extents(const inlay_table *table, struct inlay_table_arrays *arrays)
{
    if (table->extent_count == 0 || table->data != NULL || table->scales != NULL || table->zeros != NULL)
        return INLAY_ERROR_OPTION;
    inlay_status status =
        inlay_check_array(table->extents, table->extent_count, sizeof *table->extents, &arrays->extents);
    if (status == INLAY_OK && !extents_hold_rows(table))
        status = INLAY_ERROR_SHAPE;
    for (size_t i = 0; i < table->extent_count && status == INLAY_OK; i++) {
        const inlay_table view = view_of_extent(table, i);
        struct inlay_table_arrays one;
        status = inlay_check_table(&view, &one);
        if (status == INLAY_OK && (view.zeros != NULL) != inlay_has_zeros(table))
            status = INLAY_ERROR_OPTION;
        if (status == INLAY_OK) {
            reach_over(&arrays->data, one.data);
            reach_over(&arrays->scales, one.scales);
            reach_over(&arrays->zeros, one.zeros);
        }
    }
    return status;
}

inlay_status inlay_check_table(const inlay_table *table, struct inlay_table_arrays *arrays)
{
    memset(arrays, 0, sizeof *arrays);
    if (!inlay_struct_known(table, sizeof *table) || table->type < INLAY_F32 || table->type >= INLAY_ELEMENT_TYPES)
        return INLAY_ERROR_OPTION;
    const struct inlay_row_format *format = &inlay_row_formats[table->type];
    if (table->dim == 0 || (format->whole_blocks && table->dim % ((size_t)1 << format->log2_columns) != 0))
        return INLAY_ERROR_SHAPE;
    const size_t row_bytes = inlay_table_row_bytes(table->type, table->dim);
    if (row_bytes == 0)
        return INLAY_ERROR_OVERFLOW;
    inlay_status status;
    if (table->extents != NULL || table->extent_count > 0 || table->extent_rows > 0) {
        status = check_extents(table, arrays);
    } else {
        status = inlay_check_rows(table->data, table->rows, row_bytes, table->stride_bytes, &arrays->data);
        if (status == INLAY_OK)
            status = check_scales(table, &arrays->scales, &arrays->zeros);
    }
    if (status != INLAY_OK)
        return status;
    /* In a vocabulary beyond INT64_MAX negative ids would pass for large ones. */
    const uint64_t vocab = table->vocab;
    size_t end;
    if (__builtin_add_overflow(table->first_row, table->rows, &end) || vocab > INT64_MAX)
        return INLAY_ERROR_OVERFLOW;
    if (vocab == 0 ? table->first_row != 0 : end > vocab)
        return INLAY_ERROR_SHAPE;
    return INLAY_OK;
}

/* Returns whether `a` shares a byte with any of these ranges. */
static bool overlaps_any(struct inlay_extent a, const struct inlay_table_arrays *arrays)
{
    return inlay_extents_overlap(a, arrays->data) || inlay_extents_overlap(a, arrays->scales) ||
           inlay_extents_overlap(a, arrays->zeros) || inlay_extents_overlap(a, arrays->extents);
}

/* Returns the same of the arrays of each extent. Rarely called, hence not inlined. */
static __attribute__((noinline)) bool overlaps_extents(struct inlay_extent a, const inlay_table *table)
{
    for (size_t i = 0; i < table->extent_count; i++) {
        const inlay_table view = view_of_extent(table, i);
        struct inlay_table_arrays one;
        if (inlay_check_table(&view, &one) == INLAY_OK && overlaps_any(a, &one))
            return true;
    }
    return false;
}

bool inlay_table_overlaps(struct inlay_extent a, const inlay_table *table, const struct inlay_table_arrays *arrays)
{
    return overlaps_any(a, arrays) &&
           (table->extents == NULL || inlay_extents_overlap(a, arrays->extents) || overlaps_extents(a, table));
}

size_t inlay_extent_index(const inlay_table *table, size_t row)
{
    if (table->extent_rows > 0)
        return row / table->extent_rows;
    size_t first = 0, count = table->extent_count;
    while (count > 1) { /* the row lies in one of extents [first, first + count) */
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
