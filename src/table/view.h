/* SPDX-License-Identifier: MIT */
/*
 * Views of tables: validation, and locating rows.
 */
#pragma once

#include "base/arguments.h"
#include "table/element.h"

/* The bytes of a table's arrays; empty for arrays that it doesn't have. With extents, data, scales and zeros range from
   the first to the last byte over all extents; memory between them may belong to anything. */
struct inlay_table_arrays {
    struct inlay_extent data, scales, zeros;
    struct inlay_extent extents; /* the array of inlay_table_extent */
};

/* Checks the fields of a view of any type and sets the ranges of its arrays. Returns INLAY_OK, or INLAY_ERROR_OPTION,
   INLAY_ERROR_SHAPE, INLAY_ERROR_STRIDE, INLAY_ERROR_OVERFLOW or INLAY_ERROR_NULL, and blames `field`, which is the
   table's name in the call. The fault may be null. */
inlay_status inlay_check_table(const inlay_table *table, struct inlay_table_arrays *arrays, const char *field,
                               inlay_fault *fault);

/* Returns true if `a` overlaps any of these ranges. If not, it shares no byte with the table. */
static inline bool inlay_arrays_overlap(struct inlay_extent a, const struct inlay_table_arrays *arrays)
{
    return inlay_extents_overlap(a, arrays->data) || inlay_extents_overlap(a, arrays->scales) ||
           inlay_extents_overlap(a, arrays->zeros) || inlay_extents_overlap(a, arrays->extents);
}

/* Extends the ranges of several tables to include those of another one. */
static inline void inlay_reach_over_arrays(struct inlay_table_arrays *all, const struct inlay_table_arrays *one)
{
    inlay_reach_over(&all->data, one->data);
    inlay_reach_over(&all->scales, one->scales);
    inlay_reach_over(&all->zeros, one->zeros);
    inlay_reach_over(&all->extents, one->extents);
}

/* Returns true if `a` shares a byte with any array of a checked table. Exact, even with extents. */
bool inlay_table_overlaps(struct inlay_extent a, const inlay_table *table);

/* Returns the index of the extent that holds a row. */
size_t inlay_extent_index(const inlay_table *table, size_t row);

/* Returns the extent that holds a row. */
static inline inlay_table_extent inlay_extent_of(const inlay_table *table, size_t row)
{
    if (__builtin_expect(table->extents == NULL, 1))
        return (inlay_table_extent){table->data, table->scales, table->zeros, 0};
    return table->extents[inlay_extent_index(table, row)];
}

/* Returns true if a table has zero points, which only grouped types can have. All of its extents have them, or none. */
static inline bool inlay_has_zeros(const inlay_table *table)
{
    return table->group > 0 && (table->extents != NULL ? table->extents->zeros : table->zeros) != NULL;
}

/* The address of a row at a column, which is a multiple of 256, or any column of floats. */
struct inlay_row_place {
    const unsigned char *row, *scales; /* scales: null, or those of the columns from there on */
    const unsigned char *zeros;        /* null, or the array that holds the zero point of that column */
    size_t zero_at;                    /* its index in `zeros`, counted in zero points */
};

/* Locates a row. Nothing is checked: the row and the column must exist. All code locates rows with it, except
   inlay_row_addresses() for float32 rows in one array. */
static inline struct inlay_row_place inlay_row_place(const inlay_table *table, size_t row, size_t column)
{
    const struct inlay_row_format *format = &inlay_row_formats[table->type];
    const inlay_table_extent extent = inlay_extent_of(table, row);
    row -= extent.first_row;
    const unsigned char *begin = (const unsigned char *)extent.data + row * table->stride_bytes;
    struct inlay_row_place at = {.row = begin + (column >> format->log2_columns) * format->block_bytes};
    if (format->scales == INLAY_SCALES_NONE)
        return at;
    if (format->scales == INLAY_SCALES_IN_ROW) {
        at.row += format->first ? format->scale_bytes : 0;
        at.scales =
            format->first ? begin : begin + inlay_table_row_bytes(table->type, table->dim) - format->scale_bytes;
    } else if (format->scales == INLAY_SCALES_PER_ROW) {
        at.scales = extent.scales != NULL ? (const unsigned char *)extent.scales + row * format->scale_bytes
                                          : (const unsigned char *)&inlay_unit_scale;
    } else if (format->scales == INLAY_SCALES_PER_BLOCK) {
        at.scales =
            (const unsigned char *)extent.scales +
            (row * (table->dim >> format->log2_columns) + (column >> format->log2_columns)) * format->scale_bytes;
    } else {
        /* The group is a power of two: shift, since two divisions per row cost up to 5 %. */
        const int log2_group = __builtin_ctz(table->group);
        const size_t group = column >> log2_group;
        size_t groups = ((table->dim - 1) >> log2_group) + 1;
        at.scales = (const unsigned char *)extent.scales + (row * groups + group) * format->scale_bytes;
        /* Each row of zero points fills whole bytes, unless they are packed flat. */
        if (table->type == INLAY_U4_GROUPED)
            groups += groups % 2;
        at.zeros = extent.zeros;
        at.zero_at = row * groups + group;
    }
    return at;
}
