/* SPDX-License-Identifier: MIT */
/*
 * Access to elements of arrays. GGUF's arrays stay in the file's encoding, so a header of many small numbers takes no
 * more memory than the file.
 */
#include "value.h"

#include <string.h>

/* The number types of arrays. */
static const struct {
    unsigned char bytes;
    enum { NATURAL, WHOLE, FLOAT, TRUTH } form;
} numbers[] = {
    [INLAY_FILE_VALUE_ARRAY_U8] = {1, NATURAL},  [INLAY_FILE_VALUE_ARRAY_I8] = {1, WHOLE},
    [INLAY_FILE_VALUE_ARRAY_U16] = {2, NATURAL}, [INLAY_FILE_VALUE_ARRAY_I16] = {2, WHOLE},
    [INLAY_FILE_VALUE_ARRAY_U32] = {4, NATURAL}, [INLAY_FILE_VALUE_ARRAY_I32] = {4, WHOLE},
    [INLAY_FILE_VALUE_ARRAY_F32] = {4, FLOAT},   [INLAY_FILE_VALUE_ARRAY_BOOL] = {1, TRUTH},
    [INLAY_FILE_VALUE_ARRAY_U64] = {8, NATURAL}, [INLAY_FILE_VALUE_ARRAY_I64] = {8, WHOLE},
    [INLAY_FILE_VALUE_ARRAY_F64] = {8, FLOAT},   [INLAY_FILE_VALUE_INTEGERS] = {8, WHOLE},
    [INLAY_FILE_VALUE_NUMBERS] = {8, FLOAT},
};

size_t inlay_value_element_bytes(inlay_file_value_kind kind)
{
    return (unsigned)kind < sizeof numbers / sizeof *numbers ? numbers[kind].bytes : 0;
}

struct inlay_number inlay_value_element(inlay_file_value_kind kind, const void *bytes)
{
    const unsigned unused = 64 - 8 * (unsigned)numbers[kind].bytes;
    uint64_t bits = 0;
    float single;
    double number;
    memcpy(&bits, bytes, numbers[kind].bytes);
    int64_t integer = (int64_t)bits;
    switch (numbers[kind].form) {
    case FLOAT:
        memcpy(&single, &bits, sizeof single);
        memcpy(&number, &bits, sizeof number);
        return (struct inlay_number){.number = unused > 0 ? (double)single : number};
    case NATURAL:
        if (integer < 0)
            return (struct inlay_number){.number = (double)bits};
        break;
    case WHOLE:
        integer = (int64_t)(bits << unused) >> unused;
        break;
    case TRUTH:
        integer = bits != 0;
        break;
    }
    return (struct inlay_number){integer, (double)integer, true};
}

/* Returns element i of any array of numbers. */
static struct inlay_number element(const inlay_file_value *value, size_t i)
{
    const void *elements = value->kind == INLAY_FILE_VALUE_INTEGERS  ? (const void *)value->integers
                           : value->kind == INLAY_FILE_VALUE_NUMBERS ? (const void *)value->numbers
                                                                     : value->text;
    return inlay_value_element(value->kind, (const char *)elements + i * numbers[value->kind].bytes);
}

/* Checks the arguments of both functions. */
static inlay_file_status check(const inlay_file_value *value, size_t first, size_t n, const void *out)
{
    if (value == NULL || (out == NULL && n > 0))
        return INLAY_FILE_ERROR_ARGUMENT;
    if (inlay_value_element_bytes(value->kind) == 0)
        return INLAY_FILE_ERROR_TYPE;
    return first <= value->count && n <= value->count - first ? INLAY_FILE_OK : INLAY_FILE_ERROR_ARGUMENT;
}

inlay_file_status inlay_file_value_integers(const inlay_file_value *value, size_t first, size_t n, int64_t *out)
{
    inlay_file_status status = check(value, first, n, out);
    if (status == INLAY_FILE_OK && numbers[value->kind].form == FLOAT)
        return INLAY_FILE_ERROR_TYPE;
    for (size_t i = 0; status == INLAY_FILE_OK && value->kind == INLAY_FILE_VALUE_ARRAY_U64 && i < n; i++)
        if (!element(value, first + i).is_integer)
            return INLAY_FILE_ERROR_TYPE;
    for (size_t i = 0; status == INLAY_FILE_OK && i < n; i++)
        out[i] = element(value, first + i).integer;
    return status;
}

inlay_file_status inlay_file_value_numbers(const inlay_file_value *value, size_t first, size_t n, double *out)
{
    inlay_file_status status = check(value, first, n, out);
    for (size_t i = 0; status == INLAY_FILE_OK && i < n; i++)
        out[i] = element(value, first + i).number;
    return status;
}
