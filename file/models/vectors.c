/* SPDX-License-Identifier: MIT */
/*
 * The conversions of vectors.h. Data lie at any address.
 */
#include "models/vectors.h"

#include <stdlib.h>
#include <string.h>

static bool check_rank(const inlay_file_tensor *tensor, inlay_file_error *error)
{
    return tensor->rank == 1 || inlay_file_fail(error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                                                "it has %u dimensions instead of one", tensor->rank);
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
    size_t count = (size_t)tensor->shape[0];
    *owned = memory_for(count, sizeof(float));
    if (*owned == NULL)
        return inlay_file_fail_memory(error, tensor->path);
    *floats = *owned;
    if (is_double) {
        for (size_t i = 0; i < count; i++) {
            double value;
            memcpy(&value, (const char *)tensor->data + i * sizeof value, sizeof value);
            (*owned)[i] = (float)value;
        }
    } else if (count > 0) {
        /* One row of a table, which a gather converts. */
        const int32_t row = 0;
        inlay_table table =
            inlay_table_of(tensor->element, tensor->data, 1, count, inlay_table_row_bytes(tensor->element, count));
        if (inlay_gather(&table, &row, INLAY_ID_I32, 1, 1, *owned, count * sizeof(float), NULL, NULL) != INLAY_OK) {
            free(*owned);
            *owned = NULL;
            return inlay_file_fail(error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                                   "it has too many elements");
        }
    }
    return true;
}

bool inlay_vector_id_type(const inlay_file_tensor *tensor, inlay_id_type *type, inlay_file_error *error)
{
    const bool is_64 = strcmp(tensor->type, "I64") == 0;
    *type = is_64 ? INLAY_ID_I64 : INLAY_ID_I32;
    return check_rank(tensor, error) &&
           (is_64 || strcmp(tensor->type, "I32") == 0 || wrong_type(tensor, "I32 or I64", error));
}

/* The types of integers. */
static const struct integer_type {
    const char *name;
    size_t bytes;
    bool is_signed;
} integer_types[] = {{"I32", 4, true}, {"U32", 4, false}, {"I64", 8, true}, {"U64", 8, false}};

static const struct integer_type *integer_type_of(const char *name)
{
    for (size_t i = 0; i < sizeof integer_types / sizeof *integer_types; i++)
        if (strcmp(name, integer_types[i].name) == 0)
            return &integer_types[i];
    return NULL;
}

/* Reads an integer. Returns false if no int64_t holds it. */
static bool load_integer(const unsigned char *data, const struct integer_type *type, int64_t *integer)
{
    uint64_t bits = 0;
    memcpy(&bits, data, type->bytes); /* little-endian, as the library requires */
    if (type->bytes == 4 && type->is_signed)
        bits = (uint64_t)(int32_t)(uint32_t)bits;
    *integer = (int64_t)bits;
    return type->is_signed || *integer >= 0;
}

bool inlay_vector_integers(const inlay_file_tensor *tensor, int64_t **integers, size_t *count, inlay_file_error *error)
{
    const struct integer_type *type = integer_type_of(tensor->type);
    *integers = NULL;
    *count = 0;
    if (type == NULL)
        return wrong_type(tensor, "I32, I64, U32 or U64", error);
    size_t n = (size_t)(tensor->bytes / type->bytes);
    *integers = memory_for(n, sizeof(int64_t));
    if (*integers == NULL)
        return inlay_file_fail_memory(error, tensor->path);
    for (size_t i = 0; i < n; i++)
        if (!load_integer((const unsigned char *)tensor->data + i * type->bytes, type, &(*integers)[i])) {
            free(*integers);
            *integers = NULL;
            return wrong_type(tensor, "one whose values are below 2^63", error);
        }
    *count = n;
    return true;
}
