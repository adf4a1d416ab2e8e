/* SPDX-License-Identifier: MIT */
/*
 * A matrix reduced to what a picture can show: cells, each the mean of a block of values, added up row by row as the
 * matrix comes along, so that it never needs to be in memory as a whole. Included by the files that draw or feed it.
 */
#ifndef INLAY_TOOL_HEAT_H
#define INLAY_TOOL_HEAT_H

#include <stdbool.h>
#include <stddef.h>

struct heat {
    size_t rows; /**< of the matrix */
    size_t columns;
    size_t row_step; /**< rows of the matrix in one cell */
    size_t column_step;
    size_t cell_rows; /**< cells, the last of which may be cut */
    size_t cell_columns;
    double *sums; /**< [cell_rows, cell_columns]; not finite where a value was not */
};

/** Rows per cell so that `rows` make at most `most` cells. */
size_t heat_row_step(size_t rows, size_t most);

/** Columns per cell: 1 or an even number, so that interleaved sines and cosines mix equally in all cells. */
size_t heat_column_step(size_t columns, size_t most);

/** Empty cells for a matrix [rows, columns], both >= 1; false where there is no memory for them. */
bool heat_init(struct heat *heat, size_t rows, size_t columns, size_t row_step, size_t column_step);

void heat_free(struct heat *heat);

/** Adds rows [first, first + n) of the matrix, values [n, columns]. */
void heat_add(struct heat *heat, size_t first, size_t n, const float *values);

/** The mean of a cell, once all its rows have been added. */
double heat_mean(const struct heat *heat, size_t cell_row, size_t cell_column);

#endif
