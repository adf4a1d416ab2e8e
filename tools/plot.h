/* SPDX-License-Identifier: MIT */
/*
 * Heat maps as PNG files: panels with titles, axes and a colour bar. The subcommands fill a heat and say what its rows
 * are. plot.c draws with cairo; the build takes plot_none.c instead where there is no cairo.
 */
#ifndef INLAY_TOOL_PLOT_H
#define INLAY_TOOL_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include "heat.h"
#include "output.h"

struct plot {
    const struct heat *heat;
    const char *title;
    const char *subtitle;
    const char *row_name;           /**< such as "position" */
    int64_t first_row;              /**< the number of the first row of every panel */
    const char *const *panel_names; /**< [panels]; null: "sequence 0", ... */
    /** Returns the label of a row in printable UTF-8, valid until the next call; null: rows have numbers. */
    const char *(*label)(const void *context, size_t panel, size_t row);
    const void *context;
};

/** Returns the library that draws with its version, such as "cairo 1.16.0"; null if this build cannot draw. */
const char *plot_library(void);

/** Draws the plot and writes it as PNG. FAILED, with a message, where that does not succeed. */
int plot_write(struct output *output, const struct plot *plot);

#endif
