/* SPDX-License-Identifier: MIT */
/*
 * The arrays of stored.h: one entry for each type that is more than rows of bytes.
 */
#include "inputs/stored.h"

#include <stdlib.h>
#include <string.h>

#include "inputs/numbers.h"

enum scales { NO_SCALES, SCALE_PER_ROW, SCALE_PER_ROW_OR_NONE, SCALE_PER_GROUP, SCALE_PER_BLOCK, BYTE_PER_BLOCK };
enum zeros { NO_ZEROS, ZEROS_IN_ROWS, ZEROS_IN_ONE_RUN, ZEROS_OF_BYTES };

/* Types that are not named here keep everything in rows of bytes. */
static const struct form {
    bool is_numbers; /* rows are `dim` elements of `element` rather than bytes */
    enum npy_element element;
    enum scales scales;
    enum zeros zeros;
} forms[INLAY_ELEMENT_TYPES] = {
    [INLAY_F32] = {true, NPY_F4, NO_SCALES, NO_ZEROS},
    [INLAY_F16] = {true, NPY_F2, NO_SCALES, NO_ZEROS},
    [INLAY_BF16] = {true, NPY_U2, NO_SCALES, NO_ZEROS},
    [INLAY_I8] = {true, NPY_I1, SCALE_PER_ROW_OR_NONE, NO_ZEROS},
    [INLAY_I8_INVERSE] = {true, NPY_I1, SCALE_PER_ROW, NO_ZEROS},
    [INLAY_U4_GROUPED] = {false, NPY_U1, SCALE_PER_GROUP, ZEROS_IN_ROWS},
    [INLAY_U4_GROUPED_FLAT] = {false, NPY_U1, SCALE_PER_GROUP, ZEROS_IN_ONE_RUN},
    [INLAY_E4M3] = {false, NPY_U1, SCALE_PER_ROW_OR_NONE, NO_ZEROS},
    [INLAY_E4M3_E8M0] = {false, NPY_U1, BYTE_PER_BLOCK, NO_ZEROS},
    [INLAY_I8_GROUPED] = {false, NPY_U1, SCALE_PER_GROUP, ZEROS_OF_BYTES},
    [INLAY_U8_GROUPED] = {false, NPY_U1, SCALE_PER_GROUP, ZEROS_OF_BYTES},
    [INLAY_E2M1_F32] = {false, NPY_U1, SCALE_PER_BLOCK, NO_ZEROS},
};

enum npy_element stored_element(inlay_element_type type)
{
    return forms[type].is_numbers ? forms[type].element : NPY_U1;
}

struct array stored_data(inlay_element_type type, size_t rows, size_t dim)
{
    size_t columns = forms[type].is_numbers ? dim : inlay_table_row_bytes(type, dim);
    return (struct array){stored_element(type), 2, {rows, columns}, false};
}

struct array stored_scales(inlay_element_type type, size_t rows, size_t dim, uint32_t group)
{
    enum scales scales = forms[type].scales;
    const size_t block = 32;
    switch (scales) {
    case SCALE_PER_ROW:
    case SCALE_PER_ROW_OR_NONE:
        return (struct array){NPY_F4, 1, {rows, 1}, scales == SCALE_PER_ROW_OR_NONE};
    case BYTE_PER_BLOCK:
        return (struct array){NPY_U1, 2, {rows, dim / block}, false};
    case SCALE_PER_BLOCK:
        return (struct array){NPY_F4, 2, {rows, dim / 16}, false};
    case SCALE_PER_GROUP:
        return (struct array){NPY_F4, 2, {rows, dim / group}, false};
    default:
        return (struct array){.rank = 0};
    }
}

struct array stored_zeros(inlay_element_type type, size_t rows, size_t dim, uint32_t group)
{
    size_t bits = 4;
    switch (forms[type].zeros) {
    case ZEROS_IN_ROWS:
        return (struct array){NPY_U1, 2, {rows, (dim / group * bits + 7) / 8}, true};
    case ZEROS_IN_ONE_RUN:
        return (struct array){NPY_U1, 1, {(rows * (dim / group) * bits + 7) / 8, 1}, true};
    case ZEROS_OF_BYTES:
        return (struct array){NPY_U1, 2, {rows, dim / group}, true};
    default:
        return (struct array){.rank = 0};
    }
}

size_t array_bytes(const struct array *array)
{
    if (array->rank == 0)
        return 0;
    return array->shape[0] * array->shape[1] * inlay_npy_element_bytes(array->element);
}

bool stored_in_groups(inlay_element_type type)
{
    return forms[type].scales == SCALE_PER_GROUP;
}

inlay_element_type stored_type(enum npy_element element)
{
    for (int type = 1; type < INLAY_ELEMENT_TYPES; type++) {
        if (forms[type].is_numbers && forms[type].element == element)
            return (inlay_element_type)type;
    }
    return (inlay_element_type)0;
}

size_t stored_dim(inlay_element_type type, size_t row_elements)
{
    if (forms[type].is_numbers)
        return row_elements;
    /* Rows of one block and of two tell the bytes of the block and those beside all blocks. A row of a rowwise type has
       any number of columns, of which 2 stand for a block. */
    enum { BLOCK_MOST = 1024 };
    size_t block = 2;
    while (block <= BLOCK_MOST && inlay_table_row_bytes(type, block) == 0)
        block *= 2;
    size_t one = inlay_table_row_bytes(type, block), two = inlay_table_row_bytes(type, 2 * block);
    if (one == 0)
        return 0;
    size_t dim = row_elements < one ? 1 : block * (1 + (row_elements - one) / (two - one));
    for (size_t last = dim + 1; dim <= last; dim++) {
        if (inlay_table_row_bytes(type, dim) == row_elements)
            return dim;
    }
    return 0;
}

char *stored_beside(const char *path, const char *what)
{
    size_t stem = strlen(path) - (ends_in_npy(path) ? strlen(".npy") : 0);
    char *name = malloc(stem + strlen(what) + sizeof "..npy");
    if (name != NULL) {
        memcpy(name, path, stem);
        strcpy(name + stem, ".");
        strcat(name, what);
        strcat(name, ".npy");
    }
    return name;
}
