/* SPDX-License-Identifier: MIT */
/*
 * The arrangement and the averaging of heat.h. Sums are doubles, in which not even 2^31 float32 of one sign overflow;
 * a value that is not finite makes a sum that is not.
 */
#include "pictures/heat.h"

#include <stdlib.h>

#include "text/message.h"

/* Pixels of all panels together: matrices beyond SHRINK are averaged, cells grow up to GROW. */
enum { SHRINK_WIDTH = 1400, SHRINK_HEIGHT = 1000, GROW_WIDTH = 1100, GROW_HEIGHT = 700 };

enum { CELL_WIDTH_MOST = 72, CELL_HEIGHT_MOST = 40, ACROSS_MOST = 4 };

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* Returns 1 or an even number, so that interleaved sines and cosines mix equally in all cells. */
static size_t column_step_for(size_t columns, size_t most)
{
    size_t step = divide_up(columns, most);
    return step == 1 ? 1 : step + step % 2;
}

static int cell_pixels(size_t room, size_t cells, int least, int most)
{
    size_t pixels = room / cells;
    return pixels < (size_t)least ? least : pixels > (size_t)most ? most : (int)pixels;
}

/* Returns the arrangement with `across` panels side by side. */
static struct heat arrange(size_t panels, size_t across, size_t rows, size_t columns, bool labelled)
{
    struct heat heat = {.panels = panels, .across = across, .rows = rows, .columns = columns};
    size_t down = divide_up(panels, across);
    heat.row_step = labelled ? 1 : divide_up(rows, SHRINK_HEIGHT / down);
    heat.column_step = column_step_for(columns, SHRINK_WIDTH / across);
    heat.cell_rows = divide_up(rows, heat.row_step);
    heat.cell_columns = divide_up(columns, heat.column_step);
    heat.cell_width = cell_pixels(GROW_WIDTH / across, heat.cell_columns, 1, CELL_WIDTH_MOST);
    heat.cell_height =
        cell_pixels(GROW_HEIGHT / down, heat.cell_rows, labelled ? HEAT_LABEL_HEIGHT : 1, CELL_HEIGHT_MOST);
    return heat;
}

static double area_of(const struct heat *heat)
{
    return (double)heat->cell_width * (double)heat->cell_columns * heat->cell_height * (double)heat->cell_rows;
}

int heat_init(struct heat *heat, size_t panels, size_t rows, size_t columns, bool labelled)
{
    /* The arrangement that shows values largest; of equals the one with fewer panels side by side. */
    *heat = arrange(panels, 1, rows, columns, labelled);
    for (size_t across = 2; across <= panels && across <= ACROSS_MOST; across++) {
        struct heat other = arrange(panels, across, rows, columns, labelled);
        if (area_of(&other) > area_of(heat))
            *heat = other;
    }
    heat->sums = calloc(panels * heat->cell_rows, heat->cell_columns * sizeof *heat->sums);
    return heat->sums != NULL ? DONE : failed("there is not enough memory for a picture");
}

void heat_free(struct heat *heat)
{
    free(heat->sums);
}

void heat_add(struct heat *heat, size_t panel, size_t first, size_t n, const float *values)
{
    for (size_t row = first; row < first + n; row++) {
        double *cells = heat->sums + (panel * heat->cell_rows + row / heat->row_step) * heat->cell_columns;
        for (size_t column = 0; column < heat->columns; column++)
            cells[column / heat->column_step] += (double)*values++;
    }
}

/* Returns how many of `size` values lie in cell `i` of `step` values. */
static size_t cell_size(size_t size, size_t step, size_t i)
{
    return size - i * step < step ? size - i * step : step;
}

double heat_mean(const struct heat *heat, size_t panel, size_t cell_row, size_t cell_column)
{
    double count = (double)cell_size(heat->rows, heat->row_step, cell_row) *
                   (double)cell_size(heat->columns, heat->column_step, cell_column);
    return heat->sums[(panel * heat->cell_rows + cell_row) * heat->cell_columns + cell_column] / count;
}
