/* SPDX-License-Identifier: MIT */
/*
 * The parsers of number.h. The locale is never set, so that strtod reads a point everywhere.
 */
#include "number.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

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

int option_int64(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    if (!number_int64(text, strlen(text), value) || *value < least || *value > most)
        return misused("%s %s is not an integer from %" PRId64 " to %" PRId64, option, shown(text), least, most);
    return DONE;
}

/* strtod also takes blanks, hexadecimal, nan and inf: none of them is a number here. */
static bool looks_decimal(const char *text)
{
    return text[0] != '\0' && strspn(text, "+-.0123456789eE") == strlen(text);
}

bool number_double(const char *text, size_t size, double *value)
{
    /* strtod needs an end. Nobody writes a double with more digits, and a whole file without a comma is no number. */
    char copy[128];
    if (size >= sizeof copy || memchr(text, '\0', size) != NULL)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (!looks_decimal(copy))
        return false;
    char *end;
    *value = strtod(copy, &end);
    return *end == '\0' && isfinite(*value);
}

int option_double(const char *option, const char *text, double least, double most, double *value)
{
    if (!number_double(text, strlen(text), value) || *value < least || *value > most)
        return misused("%s %s is not a number from %.10g to %.10g", option, shown(text), least, most);
    return DONE;
}

int option_float(const char *option, const char *text, float *value)
{
    char *end = NULL;
    if (looks_decimal(text))
        *value = strtof(text, &end);
    if (end == NULL || *end != '\0' || !isfinite(*value))
        return misused("%s %s is not a number that float32 holds", option, shown(text));
    return DONE;
}
