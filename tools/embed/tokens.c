/* SPDX-License-Identifier: MIT */
/*
 * The inputs of tokens.h. Texts and lists of ids both become sequences of different lengths first, in the form that
 * vectorize() gives; padding and cutting are the same for both.
 */
#include "embed/tokens.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/load.h"
#include "text/message.h"

/* Reads the texts, of the command line or of files, and vectorizes them. */
static int read_texts(const struct embed_options *options, struct vectorized *result)
{
    bool files = options->source == SOURCE_FILE;
    char **contents = calloc(options->inputs, sizeof *contents);
    struct inlay_text *texts = calloc(options->inputs, sizeof *texts);
    bool enough = contents != NULL && texts != NULL;
    int outcome = DONE;
    for (size_t i = 0; enough && outcome == DONE && i < options->inputs; i++) {
        texts[i] = inlay_text_of(options->input[i]);
        if (files) {
            outcome = load_text(options->input[i], &contents[i], &texts[i].size);
            texts[i].bytes = contents[i];
        }
    }
    if (enough && outcome == DONE)
        enough = vectorize(texts, options->inputs, (size_t)options->max_tokens, result);
    for (size_t i = 0; contents != NULL && i < options->inputs; i++)
        free(contents[i]);
    free(contents);
    free(texts);
    return enough ? outcome : failed("there is not enough memory to vectorize the text");
}

static int read_ids(const struct embed_options *options, struct id_lists *lists)
{
    for (size_t i = 0; i < options->inputs; i++) {
        TRY(id_lists_add(lists, "--ids", NULL, options->input[i], strlen(options->input[i])));
        if (id_list_length(lists, i) == 0)
            return misused("--ids %s holds no ids", shown(options->input[i]));
    }
    return DONE;
}

/* Lays the sequences out as a rectangle as long as the longest one, or as --length says; for the layer of a model one
   behind the other. */
static int lay_out(const struct embed_options *options, struct tokens *tokens)
{
    const struct id_lists *lists = &tokens->text.lists;
    size_t length = (size_t)options->length;
    for (size_t i = 0; options->length == 0 && i < lists->n; i++)
        length = id_list_length(lists, i) > length ? id_list_length(lists, i) : length;
    tokens->sequences = lists->n;
    tokens->length = length;
    /* calloc checks the product; one more, because calloc(0) may be null. */
    tokens->ids = calloc(length + 1, lists->n * sizeof *tokens->ids);
    tokens->offsets = calloc(lists->n + 1, sizeof *tokens->offsets);
    if (tokens->ids == NULL || tokens->offsets == NULL)
        return out_of_memory("the ids", (double)length * (double)lists->n * sizeof *tokens->ids);
    for (size_t i = 0; i < lists->n; i++) {
        size_t own = id_list_length(lists, i), kept = own < length ? own : length;
        size_t begin = options->table == TABLE_LAYER ? (size_t)tokens->offsets[i] : i * length;
        memcpy(tokens->ids + begin, lists->ids + lists->offsets[i], kept * sizeof *tokens->ids);
        tokens->offsets[i + 1] = tokens->offsets[i] + (int64_t)kept;
    }
    return DONE;
}

int tokens_read(const struct embed_options *options, struct tokens *tokens)
{
    *tokens = (struct tokens){0};
    TRY(options->source == SOURCE_IDS ? read_ids(options, &tokens->text.lists) : read_texts(options, &tokens->text));
    return lay_out(options, tokens);
}

void tokens_free(struct tokens *tokens)
{
    free(tokens->offsets);
    vectorized_free(&tokens->text);
    free(tokens->ids);
}

int64_t tokens_vocab(const struct tokens *tokens)
{
    int64_t largest = 0;
    for (size_t i = 0; i < tokens->sequences * tokens->length; i++)
        largest = tokens->ids[i] > largest ? tokens->ids[i] : largest;
    return largest < INLAY_POSITION_LIMIT ? largest + 1 : INLAY_POSITION_LIMIT;
}
