/* SPDX-License-Identifier: MIT */
/*
 * Matrices reduced to what a picture can show: one panel for each matrix, made of cells, each the mean of a block of
 * values, which has a colour. Values are added row by row as they are computed, so that a matrix need not be in memory
 * as a whole. This part knows sizes and numbers; it must not draw.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAT_PANELS = 16,          /**< the most panels in one picture */
    HEAT_LABELLED = 40,        /**< the most rows that can have a label each */
    HEAT_LABEL_HEIGHT = 15,    /**< pixels of a row that has a label */
    HEAT_NOT_FINITE = 0x8a8a8a /**< colour of what is not finite; colours are 0xRRGGBB */
};

struct heat {
    size_t panels;
    size_t across; /**< panels side by side */
    size_t rows;   /**< of each matrix */
    size_t columns;
    bool labelled;   /**< every row has a label */
    size_t row_step; /**< rows of the matrix in one cell */
    size_t column_step;
    size_t cell_rows; /**< cells of a panel; the last row and column of cells may be cut */
    size_t cell_columns;
    int cell_width; /**< pixels */
    int cell_height;
    double *sums; /**< [panels, cell_rows, cell_columns]; not finite where a value was not */

    /* Of the colours, once they are chosen. */
    double low; /**< the values at their ends */
    double high;
    bool diverging; /**< the middle is 0 */
    bool gaps;      /**< some means are not finite */
};

/** Chooses an arrangement for matrices [panels][rows, columns], each size >= 1, and makes empty cells. With `labelled`
    every row gets the height of a line of text. */
void heat_init(struct heat *heat, size_t panels, size_t rows, size_t columns, bool labelled);

/** Adds rows [first, first + n) of one matrix, values [n, columns]. */
void heat_add(struct heat *heat, size_t panel, size_t first, size_t n, const float *values);

/** Returns the mean of a cell, once all its rows have been added. */
double heat_mean(const struct heat *heat, size_t panel, size_t cell_row, size_t cell_column);

/** Chooses what colours mean, once all rows have been added: they diverge from 0 where means of both signs occur. */
void heat_choose_colours(struct heat *heat);

/** Returns the colour of a value; values beyond the ends have the colour of the end. */
uint32_t heat_colour(const struct heat *heat, double value);

/** Returns black or white, whichever reads better on a colour. */
uint32_t heat_ink_on(uint32_t colour);
