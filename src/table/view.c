/* SPDX-License-Identifier: MIT */
/*
 * Validation of a table's view.
 */
#include "table/view.h"

#include <string.h>

/* The arrays beside the elements: which there must be, which there must not, and what they touch. */
static inlay_status check_scales(const inlay_table *rows, struct inlay_extent *scales, struct inlay_extent *zeros)
{
    bool grouped = rows->type == INLAY_U4_GROUPED || rows->type == INLAY_U4_GROUPED_FLAT;
    bool scaled = grouped || rows->type == INLAY_I8 || rows->type == INLAY_I8_INVERSE;
    *scales = *zeros = (struct inlay_extent){0, 0};
    if (grouped ? rows->group != 32 && rows->group != 64 && rows->group != 128 : rows->group != 0)
        return INLAY_ERROR_OPTION;
    if ((!scaled && rows->scales != NULL) || (!grouped && rows->zeros != NULL))
        return INLAY_ERROR_OPTION;
    if (grouped && rows->dim % rows->group != 0)
        return INLAY_ERROR_SHAPE;
    if (!scaled || rows->rows == 0)
        return INLAY_OK;
    size_t row_scales = grouped ? rows->dim / rows->group : 1, row_zeros = row_scales / 2 + row_scales % 2;
    inlay_status status =
        inlay_check_rows(rows->scales, rows->rows, row_scales * sizeof(float), row_scales * sizeof(float), scales);
    if (status != INLAY_OK || rows->zeros == NULL)
        return status;
    if (rows->type == INLAY_U4_GROUPED)
        return inlay_check_rows(rows->zeros, rows->rows, row_zeros, row_zeros, zeros);
    /* One run of zero points. They are as many as the scales, whose bytes did not overflow. */
    size_t all_zeros = rows->rows * row_scales, bytes = all_zeros / 2 + all_zeros % 2;
    return inlay_check_rows(rows->zeros, 1, bytes, bytes, zeros);
}

inlay_status inlay_check_table(const inlay_table *rows, struct inlay_table_extents *extents)
{
    memset(extents, 0, sizeof *extents);
    if (!inlay_struct_known(rows, sizeof *rows) || rows->type < INLAY_F32 || rows->type >= INLAY_ELEMENT_TYPES)
        return INLAY_ERROR_OPTION;
    if (rows->dim == 0)
        return INLAY_ERROR_SHAPE;
    size_t row_bytes = inlay_table_row_bytes(rows->type, rows->dim);
    if (row_bytes == 0)
        return (rows->type == INLAY_Q8_0 || rows->type == INLAY_Q4_0) && rows->dim % 32 != 0 ? INLAY_ERROR_SHAPE
                                                                                             : INLAY_ERROR_OVERFLOW;
    inlay_status status = inlay_check_rows(rows->data, rows->rows, row_bytes, rows->stride_bytes, &extents->data);
    if (status == INLAY_OK)
        status = check_scales(rows, &extents->scales, &extents->zeros);
    if (status != INLAY_OK)
        return status;
    size_t end;
    const uint64_t vocab = rows->vocab; /* also on 32 bits; above INT64_MAX, negative ids would pass as large ones */
    if (__builtin_add_overflow(rows->first_row, rows->rows, &end) || vocab > INT64_MAX)
        return INLAY_ERROR_OVERFLOW;
    if (vocab == 0 ? rows->first_row != 0 : end > vocab)
        return INLAY_ERROR_SHAPE;
    return INLAY_OK;
}

bool inlay_table_overlaps(struct inlay_extent a, const struct inlay_table_extents *table)
{
    return inlay_extents_overlap(a, table->data) || inlay_extents_overlap(a, table->scales) ||
           inlay_extents_overlap(a, table->zeros);
}
