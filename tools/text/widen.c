/* SPDX-License-Identifier: MIT */
/*
 * The conversions of widen.h, by the library: a table of one row, gathered with scale 1.
 */
#include "text/widen.h"

size_t type_bytes(inlay_element_type type)
{
    return inlay_table_row_bytes(type, 1);
}

void widen(inlay_element_type type, const void *elements, size_t n, float *values)
{
    const int32_t only_row = 0;
    inlay_table table = inlay_table_of(type, elements, 1, n, n * type_bytes(type));
    /* Cannot fail: n is that of a buffer in memory, and the buffers do not overlap. */
    inlay_gather(&table, &only_row, INLAY_ID_I32, 1, 1, values, n * sizeof *values, NULL, NULL);
}
