/* SPDX-License-Identifier: MIT */
/*
 * The arrays of each type. The list has an entry for every type that is not just rows of bytes.
 */
#include "inputs/stored.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

const char *const stored_names[ARRAYS] = {NULL, "scales", "zeros"};

/* Values of `scaled` that are not a number of columns. */
enum { NO_SCALES = 0, WHOLE_ROW = 1, WHOLE_GROUP = 2 };

/* Types that aren't listed have a single array: rows of bytes. */
static const struct form {
    bool is_numbers; /* each row is `dim` numbers of type `element`, not bytes */
    enum npy_element element;
    enum npy_element scale;
    size_t scaled;         /* columns per scale */
    bool can_lack_scales;  /* scales are optional; if absent, all are 1 */
    size_t zero_bits;      /* per zero point; 0: none */
    bool zeros_in_one_run; /* zero points are packed across rows; otherwise each row has whole bytes */
} forms[INLAY_ELEMENT_TYPES] = {
    [INLAY_F32] = {.is_numbers = true, .element = NPY_F4},
    [INLAY_F16] = {.is_numbers = true, .element = NPY_F2},
    [INLAY_BF16] = {.is_numbers = true, .element = NPY_U2},
    [INLAY_I8] = {.is_numbers = true, .element = NPY_I1, .scale = NPY_F4, .scaled = WHOLE_ROW, .can_lack_scales = true},
    [INLAY_I8_INVERSE] = {.is_numbers = true, .element = NPY_I1, .scale = NPY_F4, .scaled = WHOLE_ROW},
    [INLAY_U4_GROUPED] = {.element = NPY_U1, .scale = NPY_F4, .scaled = WHOLE_GROUP, .zero_bits = 4},
    [INLAY_U4_GROUPED_FLAT] =
        {.element = NPY_U1, .scale = NPY_F4, .scaled = WHOLE_GROUP, .zero_bits = 4, .zeros_in_one_run = true},
    [INLAY_E4M3] = {.element = NPY_U1, .scale = NPY_F4, .scaled = WHOLE_ROW, .can_lack_scales = true},
    [INLAY_E4M3_E8M0] = {.element = NPY_U1, .scale = NPY_U1, .scaled = 32},
    [INLAY_I8_GROUPED] = {.element = NPY_U1, .scale = NPY_F4, .scaled = WHOLE_GROUP, .zero_bits = 8},
    [INLAY_U8_GROUPED] = {.element = NPY_U1, .scale = NPY_F4, .scaled = WHOLE_GROUP, .zero_bits = 8},
    [INLAY_E2M1_F32] = {.element = NPY_U1, .scale = NPY_F4, .scaled = 16},
};

enum npy_element stored_element(inlay_element_type type)
{
    return forms[type].is_numbers ? forms[type].element : NPY_U1;
}

struct array stored_array(int which, inlay_element_type type, size_t rows, size_t dim, uint32_t group)
{
    const struct form *form = &forms[type];
    const size_t scaled = form->scaled == WHOLE_GROUP ? group : form->scaled;
    if (which == ARRAY_DATA)
        return (struct array){
            stored_element(type), 2, {rows, form->is_numbers ? dim : inlay_table_row_bytes(type, dim)}, false};
    if (which == ARRAY_SCALES && scaled == WHOLE_ROW)
        return (struct array){form->scale, 1, {rows, 1}, form->can_lack_scales};
    if (which == ARRAY_SCALES && scaled != NO_SCALES)
        return (struct array){form->scale, 2, {rows, dim / scaled}, false};
    if (which == ARRAY_SCALES || form->zero_bits == 0)
        return (struct array){.rank = 0};
    const size_t row_bits = dim / scaled * form->zero_bits;
    if (form->zeros_in_one_run)
        return (struct array){NPY_U1, 1, {(rows * row_bits + 7) / 8, 1}, true};
    return (struct array){NPY_U1, 2, {rows, (row_bits + 7) / 8}, true};
}

size_t array_bytes(const struct array *array)
{
    if (array->rank == 0)
        return 0;
    return array->shape[0] * array->shape[1] * inlay_npy_type(array->element)->block_bytes;
}

bool stored_in_groups(inlay_element_type type)
{
    return forms[type].scaled == WHOLE_GROUP;
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
