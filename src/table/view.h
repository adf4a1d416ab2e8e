/* SPDX-License-Identifier: MIT */
/*
 * Views of tables: their validation, and where a row lies.
 */
#ifndef INLAY_TABLE_VIEW_H
#define INLAY_TABLE_VIEW_H

#include "base/arguments.h"
#include "table/element.h"

/* The extents of a table's arrays. Those that it does not have are empty. */
struct inlay_table_extents {
    struct inlay_extent data, scales, zeros;
};

/* Checks the fields of a view of any type and finds the extents of its arrays. Returns INLAY_OK, or INLAY_ERROR_OPTION,
   INLAY_ERROR_SHAPE, INLAY_ERROR_STRIDE, INLAY_ERROR_OVERFLOW or INLAY_ERROR_NULL. */
inlay_status inlay_check_table(const inlay_table *table, struct inlay_table_extents *extents);

/* Returns whether an extent shares a byte with any of a table's arrays. */
bool inlay_table_overlaps(struct inlay_extent a, const struct inlay_table_extents *table);

/* Where a row lies at a column, which is a multiple of 256 or, of floats, any. */
struct inlay_row_place {
    const unsigned char *row, *scales; /* scales: null, or those of the columns from there on */
    size_t zero_at;                    /* index of that column's zero point in the table's array, in zero points */
};

/* Returns that place. Nothing is checked: the row and the column exist. */
static inline struct inlay_row_place inlay_row_place(const inlay_table *table, size_t row, size_t column)
{
    const struct inlay_row_format *format = &inlay_row_formats[table->type];
    const unsigned char *begin = (const unsigned char *)table->data + row * table->stride_bytes;
    struct inlay_row_place at = {begin + (column >> format->log2_columns) * format->block_bytes, NULL, 0};
    if (format->scales == INLAY_SCALES_NONE)
        return at;
    if (format->scales == INLAY_SCALES_IN_ROW) {
        at.scales = begin + inlay_table_row_bytes(table->type, table->dim) - format->scale_bytes;
    } else if (format->scales == INLAY_SCALES_PER_ROW) {
        at.scales = table->scales != NULL ? (const unsigned char *)table->scales + row * sizeof(float)
                                          : (const unsigned char *)&inlay_unit_scale;
    } else if (format->scales == INLAY_SCALES_PER_BLOCK) {
        at.scales = (const unsigned char *)table->scales + row * (table->dim >> format->log2_columns) +
                    (column >> format->log2_columns);
    } else {
        size_t groups = table->dim / table->group;
        at.scales = (const unsigned char *)table->scales + (row * groups + column / table->group) * sizeof(float);
        /* Each row of zero points fills whole bytes, unless they are packed flat. */
        if (table->type == INLAY_U4_GROUPED)
            groups += groups % 2;
        at.zero_at = row * groups + column / table->group;
    }
    return at;
}

#endif
