/* SPDX-License-Identifier: MIT */
/*
 * Heat maps as PNG files: panels with titles, axes and a colour bar. The subcommands fill a heat and say what its rows
 * are. plot.c draws with cairo; the build takes plot_none.c instead where there is no cairo.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "outputs/output.h"
#include "pictures/heat.h"
#include "text/message.h"

struct plot {
    struct heat *heat; /**< without colours so far */
    const char *title;
    const char *subtitle;
    const char *row_name;           /**< such as "position" */
    int64_t first_row;              /**< the number of the first row of every panel */
    const char *const *panel_names; /**< [panels]; null: "sequence 0", ... */
    /** Returns the label of a row in printable UTF-8, valid until the next call. Rows without labels have numbers. */
    const char *(*label)(const void *context, size_t panel, size_t row);
    const void *context;
};

/** Returns the library that draws with its version, such as "cairo 1.16.0"; null if this build cannot draw. */
const char *plot_library(void);

/** FAILED, with a message, if --plot names a path and this build cannot draw. */
static inline int plot_check(const char *path)
{
    return path == NULL || plot_library() != NULL
               ? DONE
               : failed("--plot %s: this inlay was built without cairo and draws no pictures", shown(path));
}

/** Draws the plot and writes it as PNG. FAILED, with a message, where that does not succeed. */
int plot_write(struct output *output, const struct plot *plot);
