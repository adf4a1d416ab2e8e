/* SPDX-License-Identifier: MIT */
/*
 * The conversions of widen.h, by the library: a table of one row, gathered with scale 1.
 */
#include "text/widen.h"

void widen(inlay_element_type type, const void *elements, size_t n, float *values)
{
    const int32_t only_row = 0;
    inlay_table table = inlay_table_of(type, elements, 1, n, inlay_table_row_bytes(type, n));
    /* Cannot fail: n is that of a buffer in memory, and the buffers do not overlap. */
    inlay_gather(&table, &only_row, INLAY_ID_I32, 1, 1, values, n * sizeof *values, NULL, NULL);
}
