/* SPDX-License-Identifier: MIT */
/*
 * Matrices reduced for a picture. Each matrix becomes a panel of cells. A cell has the mean of a block of values, and a
 * color. Values are added row by row as they are computed, so the whole matrix need not be in memory. This part must
 * not draw.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAT_PANELS = 16,          /**< the most panels in one picture */
    HEAT_LABELED = 40,         /**< the most rows that can have a label each */
    HEAT_LABEL_HEIGHT = 15,    /**< pixel height of a labeled row */
    HEAT_NOT_FINITE = 0x8a8a8a /**< color of non-finite values; colors are 0xRRGGBB */
};

struct heat {
    size_t panels;
    size_t across; /**< panels side by side */
    size_t rows;   /**< of each matrix */
    size_t columns;
    bool labeled;    /**< every row has a label */
    size_t row_step; /**< rows of the matrix in one cell */
    size_t column_step;
    size_t cell_rows; /**< cells of a panel; those in the last row and column may be smaller */
    size_t cell_columns;
    int cell_width; /**< pixels */
    int cell_height;
    double *sums; /**< [panels, cell_rows, cell_columns]; a sum is not finite if any of its values isn't */

    /* Set by heat_choose_colors(). */
    double low; /**< the values at the ends of the color map */
    double high;
    bool diverging; /**< the middle of the color map is 0 */
    bool gaps;      /**< some means aren't finite */
};

/** Chooses a layout for matrices [panels][rows, columns], all sizes >= 1, and makes empty cells. With `labeled`, every
    row is as high as a line of text. */
void heat_init(struct heat *heat, size_t panels, size_t rows, size_t columns, bool labeled);

/** Adds rows [first, first + n) of one matrix, values [n, columns]. */
void heat_add(struct heat *heat, size_t panel, size_t first, size_t n, const float *values);

/** Returns the mean of a cell. All its rows must have been added. */
double heat_mean(const struct heat *heat, size_t panel, size_t cell_row, size_t cell_column);

/** Chooses the color map: diverging from 0 if means of both signs occur. All rows must have been added. */
void heat_choose_colors(struct heat *heat);

/** Returns the color of a value. Values outside [low, high] get the colors of the ends. */
uint32_t heat_color(const struct heat *heat, double value);

/** Returns black or white, whichever is more readable on a color. */
uint32_t heat_ink_on(uint32_t color);
