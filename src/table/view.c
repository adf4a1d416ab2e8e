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

inlay_status inlay_check_table(const inlay_table *table, struct inlay_table_extents *extents)
{
    memset(extents, 0, sizeof *extents);
    if (!inlay_struct_known(table, sizeof *table) || table->type < INLAY_F32 || table->type >= INLAY_ELEMENT_TYPES)
        return INLAY_ERROR_OPTION;
    const struct inlay_row_format *format = &inlay_row_formats[table->type];
    if (table->dim == 0 || (format->whole_blocks && table->dim % ((size_t)1 << format->log2_columns) != 0))
        return INLAY_ERROR_SHAPE;
    const size_t row_bytes = inlay_table_row_bytes(table->type, table->dim);
    if (row_bytes == 0)
        return INLAY_ERROR_OVERFLOW;
    inlay_status status = inlay_check_rows(table->data, table->rows, row_bytes, table->stride_bytes, &extents->data);
    if (status == INLAY_OK)
        status = check_scales(table, &extents->scales, &extents->zeros);
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

bool inlay_table_overlaps(struct inlay_extent a, const struct inlay_table_extents *table)
{
    return inlay_extents_overlap(a, table->data) || inlay_extents_overlap(a, table->scales) ||
           inlay_extents_overlap(a, table->zeros);
}
