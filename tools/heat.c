/* SPDX-License-Identifier: MIT */
/*
 * The averaging of heat.h. Sums are in double: not even 2^31 float32 of one sign overflow or drown there,
 * and a value that is not finite makes its sum one that is not.
 */
#include "heat.h"

#include <stdlib.h>

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

size_t heat_row_step(size_t rows, size_t most)
{
    return divide_up(rows, most);
}

size_t heat_column_step(size_t columns, size_t most)
{
    size_t step = divide_up(columns, most);
    return step == 1 ? 1 : step + step % 2;
}

bool heat_init(struct heat *heat, size_t rows, size_t columns, size_t row_step, size_t column_step)
{
    *heat = (struct heat){.rows = rows, .columns = columns, .row_step = row_step, .column_step = column_step};
    heat->cell_rows = divide_up(rows, row_step);
    heat->cell_columns = divide_up(columns, column_step);
    heat->sums = calloc(heat->cell_rows, heat->cell_columns * sizeof *heat->sums);
    return heat->sums != NULL;
}

void heat_free(struct heat *heat)
{
    free(heat->sums);
    heat->sums = NULL;
}

void heat_add(struct heat *heat, size_t first, size_t n, const float *values)
{
    for (size_t i = 0; i < n; i++, values += heat->columns) {
        double *cell = heat->sums + (first + i) / heat->row_step * heat->cell_columns;
        for (size_t from = 0; from < heat->columns; from += heat->column_step, cell++) {
            size_t end = heat->columns - from < heat->column_step ? heat->columns : from + heat->column_step;
            for (size_t column = from; column < end; column++)
                *cell += (double)values[column];
        }
    }
}

/* How many of `size` values the cell `i` of `step` values has. */
static size_t cell_size(size_t size, size_t step, size_t i)
{
    return size - i * step < step ? size - i * step : step;
}

double heat_mean(const struct heat *heat, size_t cell_row, size_t cell_column)
{
    double count = (double)cell_size(heat->rows, heat->row_step, cell_row) *
                   (double)cell_size(heat->columns, heat->column_step, cell_column);
    return heat->sums[cell_row * heat->cell_columns + cell_column] / count;
}
