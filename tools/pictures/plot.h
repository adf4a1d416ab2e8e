/* SPDX-License-Identifier: MIT */
/*
 * Heat maps as PNG files: panels with titles, axes and a color bar. A subcommand fills a struct heat and names its
 * rows. plot.c draws it with cairo. Builds without cairo use plot_none.c.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "outputs/output.h"
#include "pictures/heat.h"
#include "text/message.h"

struct plot {
    struct heat *heat; /**< filled; plot_write() chooses its colors */
    const char *title;
    const char *subtitle;
    const char *row_name;           /**< e.g. "position" */
    int64_t first_row;              /**< number of the first row of every panel */
    const char *const *panel_names; /**< [panels]; null: "sequence 0", ... */
    /** Returns the label of a row in printable UTF-8, valid until the next call. If label is null, rows are
       numbered. */
    const char *(*label)(const void *context, size_t panel, size_t row);
    const void *context;
};

/** Returns the drawing library with its version, e.g. "cairo 1.16.0", or null if this build can't draw. */
const char *plot_library(void);

/** Returns FAILED, with a message, if --plot has a path and this build can't draw. */
static inline int plot_check(const char *path)
{
    return path == NULL || plot_library() != NULL
               ? DONE
               : failed("--plot %s: this inlay was built without cairo and draws no pictures", shown(path));
}

/** Draws the plot and writes it as PNG. Returns FAILED, with a message, on errors. */
int plot_write(struct output *output, const struct plot *plot);
