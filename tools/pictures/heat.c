/* SPDX-License-Identifier: MIT */
/*
 * Layout, averages and colors of a heat map. Sums are doubles: even 2^31 float32 values of the same sign can't overflow
 * them. A sum is non-finite if any of its values is.
 */
#include "pictures/heat.h"

#include <math.h>

#include "text/message.h"

/* Pixels of all panels together. Larger matrices are averaged until they fit in SHRINK. Cells of smaller matrices are
   enlarged, up to GROW in total. */
enum { SHRINK_WIDTH = 1400, SHRINK_HEIGHT = 1000, GROW_WIDTH = 1100, GROW_HEIGHT = 700 };

enum { MAX_CELL_WIDTH = 72, MAX_CELL_HEIGHT = 40, MAX_ACROSS = 4 };

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* Returns the number of columns per cell: 1 or an even number, so that interleaved sines and cosines are mixed equally
   in all cells. */
static size_t column_step_for(size_t columns, size_t max)
{
    size_t step = divide_up(columns, max);
    return step == 1 ? 1 : step + step % 2;
}

static int cell_pixels(size_t room, size_t cells, int min, int max)
{
    const size_t pixels = room / cells;
    return pixels < (size_t)min ? min : pixels > (size_t)max ? max : (int)pixels;
}

/* Returns the layout with `across` panels side by side. */
static struct heat arrange(size_t panels, size_t across, size_t rows, size_t columns, bool labeled)
{
    struct heat heat = {.panels = panels, .across = across, .rows = rows, .columns = columns, .labeled = labeled};
    size_t down = divide_up(panels, across);
    heat.row_step = labeled ? 1 : divide_up(rows, SHRINK_HEIGHT / down);
    heat.column_step = column_step_for(columns, SHRINK_WIDTH / across);
    heat.cell_rows = divide_up(rows, heat.row_step);
    heat.cell_columns = divide_up(columns, heat.column_step);
    heat.cell_width = cell_pixels(GROW_WIDTH / across, heat.cell_columns, 1, MAX_CELL_WIDTH);
    heat.cell_height =
        cell_pixels(GROW_HEIGHT / down, heat.cell_rows, labeled ? HEAT_LABEL_HEIGHT : 1, MAX_CELL_HEIGHT);
    return heat;
}

static double area_of(const struct heat *heat)
{
    return (double)heat->cell_width * (double)heat->cell_columns * heat->cell_height * (double)heat->cell_rows;
}

void heat_init(struct heat *heat, size_t panels, size_t rows, size_t columns, bool labeled)
{
    /* Choose the layout with the largest panels. If several are equally large, choose the one with the fewest panels
       side by side. */
    *heat = arrange(panels, 1, rows, columns, labeled);
    for (size_t across = 2; across <= panels && across <= MAX_ACROSS; across++) {
        struct heat other = arrange(panels, across, rows, columns, labeled);
        if (area_of(&other) > area_of(heat))
            *heat = other;
    }
    heat->sums = xcalloc(panels * heat->cell_rows, heat->cell_columns * sizeof *heat->sums, "a picture");
}

void heat_add(struct heat *heat, size_t panel, size_t first, size_t n, const float *values)
{
    for (size_t row = first; row < first + n; row++) {
        double *cells = heat->sums + (panel * heat->cell_rows + row / heat->row_step) * heat->cell_columns;
        for (size_t column = 0; column < heat->columns; column++)
            cells[column / heat->column_step] += (double)*values++;
    }
}

/* Returns the number of values in cell `i` if `size` values are split into cells of `step` values. */
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

/* ---- Colors ----------------------------------------------------------------------------------------------------- */

/*
 * Anchors of the two color maps. They were designed in CIE LCh to make lightness linear in the value, because eyes and
 * gray printers rank colors by lightness. Diverging: L* 30 at both ends, 96 in the middle; sequential: L* 16 to 94.
 * Colors between anchors are interpolated in sRGB.
 */
static const unsigned char diverging[][3] = {
    {0, 70, 138},    {3, 111, 203},  {90, 154, 242}, {169, 198, 251}, {243, 243, 243},
    {255, 178, 165}, {244, 112, 97}, {202, 55, 52},  {144, 12, 24},
};

static const unsigned char sequential[][3] = {
    {44, 31, 80},  {0, 61, 118},   {0, 89, 128},    {2, 117, 142},   {4, 146, 154},
    {0, 177, 156}, {96, 204, 143}, {185, 221, 158}, {243, 240, 200},
};

void heat_choose_colors(struct heat *heat)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t row = 0; row < heat->panels * heat->cell_rows; row++) {
        for (size_t column = 0; column < heat->cell_columns; column++) {
            double mean = heat_mean(heat, row / heat->cell_rows, row % heat->cell_rows, column);
            low = isfinite(mean) ? fmin(low, mean) : low;
            high = isfinite(mean) ? fmax(high, mean) : high;
            heat->gaps |= !isfinite(mean);
        }
    }
    if (low > high)
        low = high = 0;
    heat->diverging = low < 0 && high > 0;
    /* A constant matrix still needs two different ends. Means that differ by less than this differ only by rounding. */
    double largest = fmax(fabs(low), fabs(high));
    double margin = high - low <= largest * 0x1p-24 ? fmax(largest / 2, 1) : 0;
    heat->low = heat->diverging ? -largest : low - margin;
    heat->high = heat->diverging ? largest : high + margin;
}

uint32_t heat_color(const struct heat *heat, double value)
{
    if (!isfinite(value))
        return HEAT_NOT_FINITE;
    enum { LAST = sizeof diverging / sizeof *diverging - 1 };
    _Static_assert(sizeof diverging == sizeof sequential, "both maps have as many anchors");
    const unsigned char(*anchors)[3] = heat->diverging ? diverging : sequential;

    double t = fmin(fmax((value - heat->low) / (heat->high - heat->low), 0), 1) * LAST;
    size_t i = t < LAST ? (size_t)t : LAST - 1;
    double part = t - (double)i;
    uint32_t color = 0;
    for (size_t channel = 0; channel < 3; channel++) {
        double level = anchors[i][channel] + part * (anchors[i + 1][channel] - anchors[i][channel]);
        color = color << 8 | (uint32_t)(level + 0.5);
    }
    return color;
}

uint32_t heat_ink_on(uint32_t color)
{
    /* Rec. 709 weights, applied to the encoded values: accurate enough to choose between black and white. */
    double luma = 0.2126 * (color >> 16) + 0.7152 * (color >> 8 & 0xff) + 0.0722 * (color & 0xff);
    return luma > 140 ? 0x000000 : 0xffffff;
}
