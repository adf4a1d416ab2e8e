/* SPDX-License-Identifier: MIT */
/*
 * The inputs of tokens.h. Texts and lists of ids both become sequences of different lengths first, in the form that
 * vectorize() gives; padding and cutting is the same for both.
 */
#include "tokens.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "load.h"
#include "message.h"
#include "numbers.h"

/* Reads the texts, of the command line or of files, and vectorizes them. */
static int read_texts(const struct embed_options *options, struct vectorized *result)
{
    bool files = options->source == SOURCE_FILE;
    char **contents = calloc(options->inputs, sizeof *contents);
    struct text *texts = calloc(options->inputs, sizeof *texts);
    bool enough = contents != NULL && texts != NULL;
    int outcome = DONE;
    for (size_t i = 0; enough && outcome == DONE && i < options->inputs; i++) {
        texts[i] = (struct text){options->input[i], strlen(options->input[i])};
        if (files)
            outcome = load_text(options->input[i], &contents[i], &texts[i].size);
        if (files)
            texts[i].bytes = contents[i];
    }
    if (enough && outcome == DONE)
        enough = vectorize(texts, options->inputs, (size_t)options->max_tokens, result);
    for (size_t i = 0; contents != NULL && i < options->inputs; i++)
        free(contents[i]);
    free(contents);
    free(texts);
    return enough ? outcome : failed("there is not enough memory to vectorize the text");
}

/* Parses one list into ids; *count is how many. */
static int parse_ids(const char *list, int64_t *ids, size_t *count)
{
    static const char separators[] = " ,\t\n\r";
    *count = 0;
    for (const char *at = list + strspn(list, separators); *at != '\0'; at += strspn(at, separators)) {
        size_t size = strcspn(at, separators);
        if (!number_int64(at, size, &ids[*count]))
            return misused("--ids: '%s' is not an id: ids are integers of 64 bits, separated by spaces or commas",
                           escaped(at, size));
        ++*count;
        at += size;
    }
    if (*count == 0)
        return misused("--ids %s holds no ids", shown(list));
    return DONE;
}

static int read_ids(const struct embed_options *options, struct vectorized *result)
{
    size_t room = 1;
    for (size_t i = 0; i < options->inputs; i++)
        room += strlen(options->input[i]);
    result->sequences = options->inputs;
    result->offsets = calloc(options->inputs + 1, sizeof *result->offsets);
    result->ids = calloc(room, sizeof *result->ids);
    if (result->offsets == NULL || result->ids == NULL)
        return failed("there is not enough memory for the ids");
    size_t total = 0;
    for (size_t i = 0; i < options->inputs; i++) {
        size_t count;
        TRY(parse_ids(options->input[i], result->ids + total, &count));
        total += count;
        result->offsets[i + 1] = total;
    }
    return DONE;
}

/* Lays the sequences out as a rectangle as long as the longest one, or as --length says. */
static int pad(const struct embed_options *options, struct tokens *tokens)
{
    const struct vectorized *text = &tokens->text;
    size_t length = (size_t)options->length;
    for (size_t i = 0; options->length == 0 && i < text->sequences; i++) {
        size_t own = text->offsets[i + 1] - text->offsets[i];
        length = own > length ? own : length;
    }
    tokens->sequences = text->sequences;
    tokens->length = length;
    /* calloc checks the product; one more, because calloc(0) may be null. */
    tokens->ids = calloc(length + 1, tokens->sequences * sizeof *tokens->ids);
    if (tokens->ids == NULL)
        return out_of_memory("the ids", (double)length * (double)tokens->sequences * sizeof *tokens->ids);
    for (size_t i = 0; i < text->sequences; i++) {
        size_t own = text->offsets[i + 1] - text->offsets[i];
        size_t kept = own < length ? own : length;
        memcpy(tokens->ids + i * length, text->ids + text->offsets[i], kept * sizeof *tokens->ids);
    }
    return DONE;
}

int tokens_read(const struct embed_options *options, struct tokens *tokens)
{
    *tokens = (struct tokens){0};
    TRY(options->source == SOURCE_IDS ? read_ids(options, &tokens->text) : read_texts(options, &tokens->text));
    return pad(options, tokens);
}

void tokens_free(struct tokens *tokens)
{
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
