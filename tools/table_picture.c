/* SPDX-License-Identifier: MIT */
/*
 * The picture of table_picture.h: titles and labels from the options and the positions, the rest is plot.c's.
 */
#include "table_picture.h"

#include <stdbool.h>
#include <stdio.h>

#include "describe.h"
#include "message.h"
#include "names.h"
#include "save.h"

enum { TITLE_BYTES = 128, SUBTITLE_BYTES = 1024 };

/* Few enough positions of a list have theirs written beside their rows. */
static bool labelled(const struct positions *positions)
{
    return !positions->is_range && positions->n <= PLOT_LABELLED;
}

int table_picture_start(struct heat *heats, size_t panels, size_t columns, const struct positions *positions,
                        struct plot_layout *layout)
{
    *layout = plot_layout_for(panels, positions->n, columns, labelled(positions));
    for (size_t i = 0; i < panels; i++) {
        if (!heat_init(&heats[i], positions->n, columns, layout->row_step, layout->column_step))
            return failed("there is not enough memory for a picture");
    }
    return DONE;
}

static void describe(const struct table_options *options, const struct positions *positions,
                     const struct plot_layout *layout, char text[SUBTITLE_BYTES])
{
    char what[SUBTITLE_BYTES / 2], where[TITLE_BYTES];
    if (options->rope)
        describe_rope(&options->rope_options, options->spec.base, what, sizeof what);
    else
        describe_sinusoid(&options->spec, options->inv_freq, what, sizeof what);
    positions_describe(positions, where, sizeof where);
    int size = snprintf(text, SUBTITLE_BYTES, "%s; %s", where, what);
    if (layout->row_step * layout->column_step > 1)
        snprintf(text + size, SUBTITLE_BYTES - (size_t)size, "; each cell is the mean of %zu x %zu values",
                 layout->row_step, layout->column_step);
}

int table_picture(struct output *output, const struct table_options *options, const struct positions *positions,
                  struct heat *heats, const struct plot_layout *layout)
{
    static const char *const panels[] = {"cosines", "sines"};
    char title[TITLE_BYTES], subtitle[SUBTITLE_BYTES];
    snprintf(title, sizeof title, "inlay table: %s [%s%zu, %zu]", type_name(options->type), options->rope ? "2, " : "",
             positions->n, heats[0].columns);
    describe(options, positions, layout, subtitle);

    char labels[PLOT_LABELLED][PLOT_LABEL_BYTES];
    for (size_t i = 0; labelled(positions) && i < positions->n; i++)
        snprintf(labels[i], sizeof labels[i], "%.10g", position_at(positions, i));
    bool counted = !positions->is_range && !labelled(positions);
    struct plot plot = {
        .layout = *layout,
        .title = title,
        .subtitle = subtitle,
        .row_name = counted ? "place in the list of positions" : "position",
        .first_row = positions->first,
        .heats = heats,
        .panel_names = panels,
        .labels = labelled(positions) ? (const char(*)[PLOT_LABEL_BYTES])labels : NULL,
    };
    return save_plot(output, &plot);
}
