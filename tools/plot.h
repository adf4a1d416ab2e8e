/* SPDX-License-Identifier: MIT */
/*
 * Heat maps of tensors, one panel per sequence, with titles, axes and a colour bar. Included by the subcommands: they
 * choose a layout, feed one heat per panel, then draw. It must not know where the values come from.
 */
#ifndef INLAY_TOOL_PLOT_H
#define INLAY_TOOL_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heat.h"
#include "raster.h"

enum {
    PLOT_PANELS = 16,     /* as many panels fit in one picture */
    PLOT_LABELLED = 40,   /* as many rows can have a word each */
    PLOT_LABEL_BYTES = 80 /* a word with its terminator; longer ones are to be cut */
};

/** How panels of one shape are arranged, and what the heats of each must be made with. */
struct plot_layout {
    size_t panels;
    size_t across; /**< panels side by side */
    size_t row_step;
    size_t column_step;
    int cell_width; /**< pixels */
    int cell_height;
};

/** The layout for panels [rows, columns]; with `labelled`, every row gets the height of a line of text. */
struct plot_layout plot_layout_for(size_t panels, size_t rows, size_t columns, bool labelled);

struct plot {
    struct plot_layout layout;
    const char *title;
    const char *subtitle;
    const char *row_name;           /**< such as "position" */
    int64_t first_row;              /**< the number of the first row of every panel */
    struct heat *heats;             /**< [panels] */
    const char *const *panel_names; /**< [panels]; null: "sequence 0", ... */
    /** [panels, rows, PLOT_LABEL_BYTES] words instead of the rows' numbers; null: none. */
    const char (*labels)[PLOT_LABEL_BYTES];
};

/** Draws into a new raster; false where there is no memory for it. */
bool plot_draw(const struct plot *plot, struct raster *raster);

#endif
