/* SPDX-License-Identifier: MIT */
/*
 * The reader of numbers.h. A list on the command line and a text file are the same but for what separates numbers and
 * for how a message says where a bad one stands.
 */
#include "numbers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "message.h"
#include "number.h"

/* Text that is read from front to back. */
struct source {
    const char *option;
    const char *name; /* the argument as it was given */
    bool is_file;
    const char *at;
    const char *end;
};

/* Takes what lies before the next `separator` or the end; false where nothing is left. */
static bool take_piece(struct source *source, char separator, const char **piece, size_t *size)
{
    if (source->at == NULL)
        return false;
    const char *close = memchr(source->at, separator, (size_t)(source->end - source->at));
    *piece = source->at;
    *size = (size_t)((close != NULL ? close : source->end) - source->at);
    source->at = close != NULL ? close + 1 : NULL;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* What is left of a line without its comment and the blanks at its ends. */
static void trim(const char **line, size_t *size)
{
    const char *comment = memchr(*line, '#', *size);
    if (comment != NULL)
        *size = (size_t)(comment - *line);
    for (; *size > 0 && is_blank((*line)[*size - 1]); --*size)
        continue;
    for (; *size > 0 && is_blank(**line); --*size)
        ++*line;
}

static int bad_number(const struct source *source, size_t place, const char *piece, size_t size)
{
    if (source->is_file)
        return failed("%s %s, line %zu: '%s' is no number", source->option, shown(source->name), place,
                      escaped(piece, size));
    return misused("%s %s: '%s' is no number", source->option, shown(source->name), escaped(piece, size));
}

static size_t count(const char *text, size_t size, char separator)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += text[i] == separator;
    return n;
}

/* Reads all numbers of the source. */
static int read_text(struct source *source, struct numbers *numbers)
{
    char separator = source->is_file ? '\n' : ',';
    size_t most = count(source->at, (size_t)(source->end - source->at), separator);
    numbers->values = calloc(most, sizeof *numbers->values);
    if (numbers->values == NULL)
        return out_of_memory("a list of numbers", (double)most * sizeof *numbers->values);
    const char *piece;
    size_t size;
    for (size_t place = 1; take_piece(source, separator, &piece, &size); place++) {
        if (source->is_file)
            trim(&piece, &size);
        if (source->is_file && size == 0)
            continue;
        if (!number_double(piece, size, &numbers->values[numbers->n]))
            return bad_number(source, place, piece, size);
        numbers->n++;
    }
    return DONE;
}

static bool ends_in_npy(const char *text)
{
    size_t size = strlen(text);
    return size >= 4 && strcmp(text + size - 4, ".npy") == 0;
}

static int read_file(const char *option, const char *name, const char *path, struct numbers *numbers)
{
    if (ends_in_npy(path))
        return load_list(path, &numbers->values, &numbers->n);
    char *text;
    size_t size;
    int outcome = load_text(path, &text, &size);
    if (outcome != DONE)
        return outcome;
    struct source source = {option, name, true, text, text + size};
    outcome = read_text(&source, numbers);
    free(text);
    return outcome;
}

int numbers_read(const char *option, const char *text, double least, double most, struct numbers *numbers)
{
    *numbers = (struct numbers){NULL, 0};
    bool is_file = text[0] == '@' || ends_in_npy(text);
    struct source list = {option, text, false, text, text + strlen(text)};
    int outcome = is_file ? read_file(option, text, text + (text[0] == '@'), numbers) : read_text(&list, numbers);
    if (outcome != DONE)
        return outcome;
    if (numbers->n == 0)
        return failed("%s %s has no numbers", option, shown(text));
    for (size_t i = 0; i < numbers->n; i++) {
        double value = numbers->values[i];
        if (value >= least && value <= most)
            continue;
        char what[128];
        snprintf(what, sizeof what, "number %zu, %.17g, is not from %.17g to %.17g", i + 1, value, least, most);
        return is_file ? failed("%s %s: %s", option, shown(text), what)
                       : misused("%s %s: %s", option, shown(text), what);
    }
    return DONE;
}

void numbers_free(struct numbers *numbers)
{
    free(numbers->values);
    *numbers = (struct numbers){NULL, 0};
}
