/* SPDX-License-Identifier: MIT */
/*
 * The arrays of each type.
 */
#include "inputs/stored.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

const char *const stored_names[ARRAYS] = {NULL, "scales", "zeros"};

/* Types that aren't listed are rows of bytes. */
static const struct form {
    bool is_numbers; /* each row is `dim` numbers of type `element`, not bytes */
    enum npy_element element;
    bool can_lack_scales; /* scales are optional; if absent, all are 1 */
} forms[INLAY_ELEMENT_TYPES] = {
    [INLAY_F32] = {.is_numbers = true, .element = NPY_F4},
    [INLAY_F16] = {.is_numbers = true, .element = NPY_F2},
    [INLAY_BF16] = {.is_numbers = true, .element = NPY_U2},
    [INLAY_I8] = {.is_numbers = true, .element = NPY_I1, .can_lack_scales = true},
    [INLAY_I8_INVERSE] = {.is_numbers = true, .element = NPY_I1},
    [INLAY_E4M3] = {.can_lack_scales = true},
};

enum npy_element stored_element(inlay_element_type type)
{
    return forms[type].is_numbers ? forms[type].element : NPY_U1;
}

/* Returns the array of scales. It has one dimension if the type has a scale per row, i.e. if scales take the same bytes
   for every dim. */
static struct array scales_of(inlay_element_type type, size_t rows, size_t dim, uint32_t group)
{
    enum { WIDE = 256 };
    const enum npy_element element = type == INLAY_E4M3_E8M0 ? NPY_U1 : NPY_F4;
    const size_t bytes = inlay_table_scale_bytes(type, dim, group);
    if (bytes == 0)
        return (struct array){.rank = 0};
    if (inlay_table_scale_bytes(type, WIDE, group) == inlay_table_scale_bytes(type, 2 * WIDE, group))
        return (struct array){element, 1, {rows, 1}, forms[type].can_lack_scales};
    return (struct array){element, 2, {rows, bytes / inlay_npy_type(element)->block_bytes}, false};
}

struct array stored_array(int which, inlay_element_type type, size_t rows, size_t dim, uint32_t group)
{
    const size_t row_zeros = inlay_table_zero_bytes(type, 1, dim, group);
    if (which == ARRAY_DATA)
        return (struct array){
            stored_element(type), 2, {rows, forms[type].is_numbers ? dim : inlay_table_row_bytes(type, dim)}, false};
    if (which == ARRAY_SCALES)
        return scales_of(type, rows, dim, group);
    if (row_zeros == 0)
        return (struct array){.rank = 0};
    if (type == INLAY_U4_GROUPED_FLAT) /* packed across rows */
        return (struct array){NPY_U1, 1, {inlay_table_zero_bytes(type, rows, dim, group), 1}, true};
    return (struct array){NPY_U1, 2, {rows, row_zeros}, true};
}

size_t array_bytes(const struct array *array)
{
    if (array->rank == 0)
        return 0;
    return array->shape[0] * array->shape[1] * inlay_npy_type(array->element)->block_bytes;
}

size_t stored_dim(inlay_element_type type, size_t row_elements)
{
    if (forms[type].is_numbers)
        return row_elements;
    /* The sizes of rows with one and two blocks give the bytes per block and the fixed bytes per row. If two columns
       can share a byte, a block is two columns. */
    enum { MAX_BLOCK = 1024 };
    for (size_t block = 1; block <= MAX_BLOCK; block *= 2) {
        const size_t one = inlay_table_row_bytes(type, block), two = inlay_table_row_bytes(type, 2 * block);
        if (one == 0 || two == one)
            continue;
        const size_t dim = row_elements < one ? block : block * (1 + (row_elements - one) / (two - one));
        return inlay_table_row_bytes(type, dim) == row_elements ? dim : 0;
    }
    return 0;
}

void companion_path(const char *path, int which, char name[COMPANION_BYTES])
{
    size_t stem = strlen(path) - (inlay_ends_in(path, ".npy") ? strlen(".npy") : 0);
    snprintf(name, COMPANION_BYTES, "%.*s.%s.npy", (int)stem, path, stored_names[which]);
}
