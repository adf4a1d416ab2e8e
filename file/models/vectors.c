/* SPDX-License-Identifier: MIT */
/*
 * The conversions of vectors.h. Data lie at any address.
 */
#include "models/vectors.h"

#include "piece.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>

static bool check_rank(const inlay_file_tensor *tensor, inlay_file_error *error)
{
    if (tensor->rank != 1)
        return inlay_file_fail(error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                               "it has %u dimensions instead of one", tensor->rank);
    return true;
}

static bool wrong_type(const inlay_file_tensor *tensor, const char *wanted, inlay_file_error *error)
{
    return inlay_file_fail(error, INLAY_FILE_ERROR_TYPE, tensor->path, tensor->name, "its type is %s instead of %s",
                           tensor->type, wanted);
}

/* Returns memory for elements of a type, or null. */
static void *memory_for(size_t count, size_t element_bytes)
{
    return count <= SIZE_MAX / element_bytes ? malloc(count > 0 ? count * element_bytes : 1) : NULL;
}

bool inlay_vector_floats(const inlay_file_tensor *tensor, const void **floats, float **owned, inlay_file_error *error)
{
    *owned = NULL;
    *floats = tensor->data;
    if (!check_rank(tensor, error))
        return false;
    if (tensor->element == INLAY_F32)
        return true;
    bool is_double = strcmp(tensor->type, "F64") == 0;
    if (!is_double && tensor->element != INLAY_F16 && tensor->element != INLAY_BF16)
        return wrong_type(tensor, "F32, F16, BF16 or F64", error);
    const size_t count = (size_t)tensor->shape[0];
    *owned = memory_for(count, sizeof(float));
    if (*owned == NULL)
        return inlay_file_fail_memory(error, tensor->path);
    *floats = *owned;
    if (!is_double)
        inlay_piece_convert(tensor, count, 1, 1, *owned);
    for (size_t i = 0; is_double && i < count; i++) {
        double value;
        memcpy(&value, (const char *)tensor->data + i * sizeof value, sizeof value);
        (*owned)[i] = (float)value;
    }
    return true;
}

bool inlay_vector_id_type(const inlay_file_tensor *tensor, inlay_id_type *type, inlay_file_error *error)
{
    const bool is_64 = strcmp(tensor->type, "I64") == 0;
    *type = is_64 ? INLAY_ID_I64 : INLAY_ID_I32;
    if (!check_rank(tensor, error))
        return false;
    if (!is_64 && strcmp(tensor->type, "I32") != 0)
        return wrong_type(tensor, "I32 or I64", error);
    return true;
}

/* Returns the kind of an array of integers of a type; 0 if it is no type of integers. */
static inlay_file_value_kind kind_of(const char *type)
{
    static const struct {
        const char *type;
        inlay_file_value_kind kind;
    } kinds[] = {{"I32", INLAY_FILE_VALUE_ARRAY_I32},
                 {"U32", INLAY_FILE_VALUE_ARRAY_U32},
                 {"I64", INLAY_FILE_VALUE_ARRAY_I64},
                 {"U64", INLAY_FILE_VALUE_ARRAY_U64}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].type) == 0)
            return kinds[i].kind;
    return 0;
}

bool inlay_vector_integers(const inlay_file_tensor *tensor, int64_t **integers, size_t *count, inlay_file_error *error)
{
    const inlay_file_value_kind kind = kind_of(tensor->type);
    *integers = NULL;
    *count = 0;
    if (kind == 0)
        return wrong_type(tensor, "I32, I64, U32 or U64", error);
    const inlay_file_value value = {
        .kind = kind, .text = tensor->data, .count = (size_t)tensor->bytes / inlay_value_element_bytes(kind)};
    *integers = memory_for(value.count, sizeof(int64_t));
    if (*integers == NULL)
        return inlay_file_fail_memory(error, tensor->path);
    if (inlay_file_value_integers(&value, 0, value.count, *integers) != INLAY_FILE_OK) {
        free(*integers);
        *integers = NULL;
        return wrong_type(tensor, "one whose values are below 2^63", error);
    }
    *count = value.count;
    return true;
}
