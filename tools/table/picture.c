/* SPDX-License-Identifier: MIT */
/*
 * The titles and labels of the pictures of `inlay table`; pictures/plot.c does the rest.
 */
#include "table/picture.h"

#include <stdio.h>

#include "pictures/plot.h"
#include "table/describe.h"
#include "text/message.h"
#include "text/names.h"

enum { LABEL_BYTES = 256, TITLE_BYTES = 1024 };

bool table_picture_labelled(const struct positions *positions)
{
    return !positions->is_range && positions->n <= HEAT_LABELLED;
}

static const char *position_label(const void *context, size_t panel, size_t row)
{
    static char label[LABEL_BYTES];
    (void)panel;
    snprintf(label, sizeof label, "%.10g", position_at(context, row));
    return label;
}

int table_picture(struct output *output, const struct table_options *options, const struct positions *positions,
                  struct heat *heat)
{
    static const char *const panels[] = {"cosines", "sines"};
    char title[TITLE_BYTES], subtitle[TITLE_BYTES], what[TITLE_BYTES / 2];
    snprintf(title, sizeof title, "inlay table: %s [%s%zu, %zu]", enum_name(TYPES, options->type),
             options->rope ? "2, " : "", positions->n, heat->columns);
    if (options->rope)
        describe_rope(options, what, sizeof what);
    else
        describe_sinusoid(&options->spec, options->inv_freq, what, sizeof what);
    positions_describe(positions, subtitle, sizeof subtitle);
    append(subtitle, sizeof subtitle, "; %s", what);
    struct plot plot = {
        .heat = heat,
        .title = title,
        .subtitle = subtitle,
        .row_name =
            positions->is_range || table_picture_labelled(positions) ? "position" : "place in the list of positions",
        .first_row = positions->first,
        .panel_names = panels,
        .label = table_picture_labelled(positions) ? position_label : NULL,
        .context = positions,
    };
    return plot_write(output, &plot);
}
