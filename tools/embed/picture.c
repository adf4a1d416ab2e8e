/* SPDX-License-Identifier: MIT */
/*
 * The titles and labels of the pictures of `inlay embed`; pictures/plot.c does the rest.
 */
#include "embed/picture.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "pictures/plot.h"
#include "text/message.h"

enum { LABEL_CHARACTERS = 18, LABEL_BYTES = 256, TITLE_BYTES = 1024 };

int embed_picture_check(const struct tokens *tokens)
{
    if (tokens->length == 0)
        return failed("--plot: there are no tokens to draw");
    if (tokens->sequences > HEAT_PANELS)
        return failed("--plot: %zu sequences are more than the %d panels of a picture: draw fewer at a time",
                      tokens->sequences, HEAT_PANELS);
    return DONE;
}

/* Returns the word of a token, cut to LABEL_CHARACTERS, for a struct tokens. */
static const char *token_label(const void *context, size_t sequence, size_t token)
{
    static char label[LABEL_BYTES];
    const struct tokens *tokens = context;
    int64_t id = tokens->ids[sequence * tokens->length + token];
    if (id == 0)
        return "(padding)";
    struct inlay_text word = tokens->words[id];
    size_t size = leading_bytes(word.bytes, word.size, LABEL_CHARACTERS);
    snprintf(label, sizeof label, "%s%s", escaped(word.bytes, size), size < word.size ? ".." : "");
    return label;
}

static void describe(const struct embed_options *options, char text[TITLE_BYTES])
{
    static const char *const tables[] = {"fixed table", "random table", "table from a file", "table of a model"};
    static const char *const positions[] = {"sinusoidal positions", "learned positions", "no positions"};
    if (options->table == TABLE_LAYER) {
        snprintf(text, TITLE_BYTES, "layer of %s", shown(options->model));
        return;
    }
    snprintf(text, TITLE_BYTES, "%s, %s", tables[options->table], positions[options->positions]);
    if (options->positions != POSITIONS_NONE)
        append(text, TITLE_BYTES, " from %" PRId64, options->start);
    if (options->scale.is_sqrt)
        append(text, TITLE_BYTES, ", scale sqrt(dim)");
    else if (options->scale.value != 1)
        append(text, TITLE_BYTES, ", scale %g", (double)options->scale.value);
}

int embed_picture(struct output *output, const struct embed_options *options, const struct tokens *tokens, size_t dim,
                  const float *values)
{
    bool labelled = tokens->words != NULL && tokens->length <= HEAT_LABELLED;
    struct heat heat;
    TRY(heat_init(&heat, tokens->sequences, tokens->length, dim, labelled));
    for (size_t i = 0; i < tokens->sequences; i++)
        heat_add(&heat, i, 0, tokens->length, values + i * tokens->length * dim);

    char title[TITLE_BYTES], subtitle[TITLE_BYTES];
    snprintf(title, sizeof title, "inlay embed: float32 [%zu, %zu, %zu]", tokens->sequences, tokens->length, dim);
    describe(options, subtitle);
    struct plot plot = {
        .heat = &heat,
        .title = title,
        .subtitle = subtitle,
        .row_name = labelled || options->positions == POSITIONS_NONE ? "token" : "position",
        .first_row = options->positions == POSITIONS_NONE ? 0 : options->start,
        .label = labelled ? token_label : NULL,
        .context = tokens,
    };
    int outcome = plot_write(output, &plot);
    heat_free(&heat);
    return outcome;
}
