/* SPDX-License-Identifier: MIT */
/*
 * Parses numbers. The tool never sets a locale, so strtod always expects a decimal point. Lists on the command line and
 * in text files differ in two ways: in their separators, and in how messages locate a number.
 */
#include "inputs/numbers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/load.h"
#include "text.h"
#include "text/message.h"

/* ---- One number ------------------------------------------------------------------------------------------------- */

enum { NUMBER_BYTES = 128 };

/* Copies text [size] and adds the terminator that the C library needs. Returns false if the text has other characters
   than those of `characters`: strtod() and strtoll() also accept whitespace, and strtod() accepts hexadecimal numbers,
   nan and inf. Returns false for text that is too long, e.g. a file without separators. */
static bool copy_number(const char *text, size_t size, const char *characters, char copy[NUMBER_BYTES])
{
    if (size == 0 || size >= NUMBER_BYTES || memchr(text, '\0', size) != NULL)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return strspn(copy, characters) == size;
}

bool number_int64(const char *text, size_t size, int64_t *value)
{
    char copy[NUMBER_BYTES], *end;
    if (!copy_number(text, size, "+-0123456789", copy))
        return false;
    errno = 0;
    *value = strtoll(copy, &end, 10);
    return *end == '\0' && errno == 0;
}

bool number_double(const char *text, size_t size, double *value)
{
    char copy[NUMBER_BYTES], *end;
    if (!copy_number(text, size, "+-.0123456789eE", copy))
        return false;
    *value = strtod(copy, &end);
    return *end == '\0' && isfinite(*value);
}

bool number_float(const char *text, float *value)
{
    char copy[NUMBER_BYTES], *end;
    if (!copy_number(text, strlen(text), "+-.0123456789eE", copy))
        return false;
    *value = strtof(copy, &end);
    return *end == '\0' && isfinite(*value);
}

float scale_of(const struct scale *scale, size_t dim)
{
    return scale->is_sqrt ? inlay_sqrt_dim(dim) : scale->value;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------ */

/* Strips a comment and surrounding whitespace. */
static void trim(const char **line, size_t *size)
{
    static const char blanks[] = {' ', '\t', '\r'};
    const char *comment = memchr(*line, '#', *size);
    if (comment != NULL)
        *size = (size_t)(comment - *line);
    while (*size > 0 && memchr(blanks, (*line)[*size - 1], sizeof blanks) != NULL)
        --*size;
    for (; *size > 0 && memchr(blanks, **line, sizeof blanks) != NULL; --*size)
        ++*line;
}

/* Reads all numbers of text [size]. `name` is the argument of the option, for messages. */
static int read_list(const char *option, const char *name, bool is_file, const char *text, size_t size,
                     struct numbers *numbers)
{
    char separator = is_file ? '\n' : ',';
    const char *end = text + size, *next;
    /* Consecutive numbers have a separator between them. */
    numbers->values = xcalloc(size / 2 + 1, sizeof *numbers->values, "a list of numbers");
    for (size_t place = 1; text != NULL; place++, text = next) {
        const char *close = memchr(text, separator, (size_t)(end - text));
        next = close != NULL ? close + 1 : NULL;
        size = (size_t)((close != NULL ? close : end) - text);
        if (is_file)
            trim(&text, &size);
        if (is_file && size == 0)
            continue;
        if (number_double(text, size, &numbers->values[numbers->n]))
            numbers->n++;
        else if (is_file)
            return failed("%s %s, line %zu: '%s' is not a number", option, shown(name), place, escaped(text, size));
        else
            return misused("%s %s: '%s' is not a number", option, shown(name), escaped(text, size));
    }
    return DONE;
}

static int read_npy(const char *path, struct numbers *numbers)
{
    struct npy npy;
    void *data = NULL;
    TRY(load_npy(path, NPY_LIST, &npy, &data));
    numbers->n = npy.rows;
    numbers->values = xcalloc(npy.rows, sizeof *numbers->values, shown(path));
    for (size_t i = 0; i < npy.rows; i++)
        numbers->values[i] = npy.element == NPY_F4   ? (double)((const float *)data)[i]
                             : npy.element == NPY_F8 ? ((const double *)data)[i]
                                                     : (double)npy_integer(&npy, data, i);
    free(data);
    return DONE;
}

static int read_file(const char *option, const char *name, const char *path, struct numbers *numbers)
{
    if (inlay_ends_in(path, ".npy"))
        return read_npy(path, numbers);
    char *text = NULL;
    size_t size;
    int outcome = load_text(path, &text, &size);
    if (outcome == DONE)
        outcome = read_list(option, name, true, text, size, numbers);
    free(text);
    return outcome;
}

int numbers_read(const char *option, const char *text, double min, double max, struct numbers *numbers)
{
    *numbers = (struct numbers){NULL, 0};
    bool is_file = text[0] == '@' || inlay_ends_in(text, ".npy");
    TRY(is_file ? read_file(option, text, text + (text[0] == '@'), numbers)
                : read_list(option, text, false, text, strlen(text), numbers));
    if (numbers->n == 0)
        return failed("%s %s has no numbers", option, shown(text));
    for (size_t i = 0; i < numbers->n; i++) {
        double value = numbers->values[i];
        /* Also rejects NaN, which a .npy file can contain. */
        if (!(value >= min && value <= max))
            return message(is_file ? FAILED : MISUSED, "%s %s: number %zu, %.17g, must be from %.17g to %.17g", option,
                           shown(text), i + 1, value, min, max);
    }
    return DONE;
}
