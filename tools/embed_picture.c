/* SPDX-License-Identifier: MIT */
/*
 * The picture of embed_picture.h: titles and labels from the options and the vocabulary, the rest is plot.c's.
 */
#include "embed_picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "plot.h"
#include "save.h"
#include "utf8.h"

enum { TITLE_BYTES = 256, LABEL_CHARACTERS = 18 };

int embed_picture_check(const struct tokens *tokens)
{
    if (tokens->length == 0)
        return failed("--plot: there are no tokens to draw");
    if (tokens->sequences > PLOT_PANELS)
        return failed("--plot: %zu sequences are more than the %d panels a picture has: draw fewer at a time",
                      tokens->sequences, PLOT_PANELS);
    return DONE;
}

/* Copies whole characters of a word, at most LABEL_CHARACTERS of them. */
static void copy_label(struct text word, char label[PLOT_LABEL_BYTES])
{
    size_t characters = 0;
    size_t i = 0;
    while (i < word.size && characters < LABEL_CHARACTERS) {
        uint32_t code;
        size_t length = utf8_decode(word.bytes + i, word.size - i, &code);
        i += length ? length : 1;
        characters++;
    }
    memcpy(label, word.bytes, i);
    strcpy(label + i, i < word.size ? ".." : "");
}

/* Every token's word; null where there is no memory for them. */
static char (*make_labels(const struct tokens *tokens))[PLOT_LABEL_BYTES]
{
    size_t count = tokens->sequences * tokens->length;
    char(*labels)[PLOT_LABEL_BYTES] = calloc(count, sizeof *labels);
    for (size_t i = 0; labels != NULL && i < count; i++) {
        if (tokens->ids[i] == 0)
            strcpy(labels[i], "(padding)");
        else
            copy_label(tokens->text.words[tokens->ids[i]], labels[i]);
    }
    return labels;
}

static void describe(const struct embed_options *options, const struct plot_layout *layout, char text[TITLE_BYTES])
{
    static const char *const tables[] = {"fixed table", "random table", "table from a file"};
    static const char *const positions[] = {"sinusoidal positions", "learned positions", "no positions"};
    int size = snprintf(text, TITLE_BYTES, "%s, %s", tables[options->table], positions[options->positions]);
    if (options->positions != POSITIONS_NONE)
        size += snprintf(text + size, TITLE_BYTES - (size_t)size, " from %" PRId64, options->start);
    if (options->scale_is_sqrt)
        size += snprintf(text + size, TITLE_BYTES - (size_t)size, ", scale sqrt(dim)");
    else if (options->scale != 1)
        size += snprintf(text + size, TITLE_BYTES - (size_t)size, ", scale %g", (double)options->scale);
    if (layout->row_step * layout->column_step > 1)
        snprintf(text + size, TITLE_BYTES - (size_t)size, "; each cell is the mean of %zu x %zu values",
                 layout->row_step, layout->column_step);
}

int embed_picture(struct output *output, const struct embed_options *options, const struct tokens *tokens, size_t dim,
                  const float *values)
{
    bool labelled = tokens->text.words != NULL && tokens->length <= PLOT_LABELLED;
    struct plot plot = {.row_name = labelled ? "token" : "position", .first_row = options->start};
    plot.layout = plot_layout_for(tokens->sequences, tokens->length, dim, labelled);
    if (options->positions == POSITIONS_NONE)
        plot.row_name = "token";

    char title[TITLE_BYTES];
    char subtitle[TITLE_BYTES];
    snprintf(title, sizeof title, "inlay embed: float32 [%zu, %zu, %zu]", tokens->sequences, tokens->length, dim);
    describe(options, &plot.layout, subtitle);
    plot.title = title;
    plot.subtitle = subtitle;

    char(*labels)[PLOT_LABEL_BYTES] = labelled ? make_labels(tokens) : NULL;
    struct heat heats[PLOT_PANELS] = {{0}};
    bool enough = !labelled || labels != NULL;
    for (size_t i = 0; enough && i < tokens->sequences; i++) {
        enough = heat_init(&heats[i], tokens->length, dim, plot.layout.row_step, plot.layout.column_step);
        if (enough)
            heat_add(&heats[i], 0, tokens->length, values + i * tokens->length * dim);
    }
    plot.heats = heats;
    plot.labels = (const char(*)[PLOT_LABEL_BYTES])labels;
    int outcome = enough ? save_plot(output, &plot) : failed("there is not enough memory for a picture");
    for (size_t i = 0; i < tokens->sequences; i++)
        heat_free(&heats[i]);
    free(labels);
    return outcome;
}
