/* SPDX-License-Identifier: MIT */
/*
 * The parsers of number.h. The tool never sets a locale, so that strtod reads a point everywhere.
 */
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
