/* SPDX-License-Identifier: MIT */
/*
 * The parsers of numbers.h. The tool never sets a locale, so that strtod reads a point everywhere. A list on the
 * command line and a text file are the same but for what separates numbers and for how a message says where a bad one
 * stands.
 */
#include "inputs/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/load.h"
#include "text/message.h"

/* ---- One number ------------------------------------------------------------------------------------------------- */

bool number_int64(const char *text, size_t size, int64_t *value)
{
    bool negative = size > 0 && text[0] == '-';
    size_t i = size > 0 && (text[0] == '-' || text[0] == '+');
    if (i == size)
        return false;
    /* Counted downwards, because the negative numbers reach one further. */
    int64_t sum = 0;
    for (; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_sub_overflow(sum, text[i] - '0', &sum))
            return false;
    }
    if (!negative && sum == INT64_MIN)
        return false;
    *value = negative ? sum : -sum;
    return true;
}

/* strtod also takes blanks, hexadecimal, nan and inf: none of them is a number here. */
static bool looks_decimal(const char *text)
{
    return text[0] != '\0' && strspn(text, "+-.0123456789eE") == strlen(text);
}

bool number_double(const char *text, size_t size, double *value)
{
    /* strtod needs a terminator. Nobody writes a double with more digits, and a file without a comma is no number. */
    char copy[128];
    if (size >= sizeof copy || memchr(text, '\0', size) != NULL)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    char *end = NULL;
    if (looks_decimal(copy))
        *value = strtod(copy, &end);
    return end != NULL && *end == '\0' && isfinite(*value);
}

bool number_float(const char *text, float *value)
{
    char *end = NULL;
    if (looks_decimal(text))
        *value = strtof(text, &end);
    return end != NULL && *end == '\0' && isfinite(*value);
}

float scale_of(const struct scale *scale, size_t dim)
{
    return scale->is_sqrt ? inlay_sqrt_dim(dim) : scale->value;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Drops a comment and the blanks at both ends. */
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

/* Reads all numbers of text [size]; `name` is the option's argument. */
static int read_list(const char *option, const char *name, bool is_file, const char *text, size_t size,
                     struct numbers *numbers)
{
    char separator = is_file ? '\n' : ',';
    const char *end = text + size, *next;
    size_t most = 1;
    for (const char *at = text; at < end; at++)
        most += *at == separator;
    numbers->values = calloc(most, sizeof *numbers->values);
    if (numbers->values == NULL)
        return out_of_memory("a list of numbers", (double)most * sizeof *numbers->values);
    for (size_t place = 1; place <= most; place++, text = next) {
        const char *close = memchr(text, separator, (size_t)(end - text));
        next = close != NULL ? close + 1 : end;
        size = (size_t)((close != NULL ? close : end) - text);
        if (is_file)
            trim(&text, &size);
        if (is_file && size == 0)
            continue;
        if (number_double(text, size, &numbers->values[numbers->n]))
            numbers->n++;
        else if (is_file)
            return failed("%s %s, line %zu: '%s' is no number", option, shown(name), place, escaped(text, size));
        else
            return misused("%s %s: '%s' is no number", option, shown(name), escaped(text, size));
    }
    return DONE;
}

bool ends_in_npy(const char *text)
{
    const char *end = strrchr(text, '.');
    return end != NULL && strcmp(end, ".npy") == 0;
}

static int read_npy(const char *path, struct numbers *numbers)
{
    struct npy npy;
    void *data = NULL;
    TRY(load_npy(path, NPY_LIST, &npy, &data));
    numbers->n = npy.rows;
    numbers->values = calloc(npy.rows + 1, sizeof *numbers->values);
    for (size_t i = 0; numbers->values != NULL && i < npy.rows; i++)
        numbers->values[i] = npy.element == NPY_F4   ? (double)((const float *)data)[i]
                             : npy.element == NPY_F8 ? ((const double *)data)[i]
                                                     : (double)npy_integer(&npy, data, i);
    free(data);
    return numbers->values != NULL ? DONE : out_of_memory(shown(path), (double)npy.rows * sizeof *numbers->values);
}

static int read_file(const char *option, const char *name, const char *path, struct numbers *numbers)
{
    if (ends_in_npy(path))
        return read_npy(path, numbers);
    char *text = NULL;
    size_t size;
    int outcome = load_text(path, &text, &size);
    if (outcome == DONE)
        outcome = read_list(option, name, true, text, size, numbers);
    free(text);
    return outcome;
}

int numbers_read(const char *option, const char *text, double least, double most, struct numbers *numbers)
{
    *numbers = (struct numbers){NULL, 0};
    bool is_file = text[0] == '@' || ends_in_npy(text);
    TRY(is_file ? read_file(option, text, text + (text[0] == '@'), numbers)
                : read_list(option, text, false, text, strlen(text), numbers));
    if (numbers->n == 0)
        return failed("%s %s has no numbers", option, shown(text));
    for (size_t i = 0; i < numbers->n; i++) {
        double value = numbers->values[i];
        /* Not true of a NaN either, which a .npy file can hold. */
        if (!(value >= least && value <= most))
            return message(is_file ? FAILED : MISUSED, "%s %s: number %zu, %.17g, is not from %.17g to %.17g", option,
                           shown(text), i + 1, value, least, most);
    }
    return DONE;
}

void numbers_free(struct numbers *numbers)
{
    free(numbers->values);
}
