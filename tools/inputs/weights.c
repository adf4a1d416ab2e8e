/* SPDX-License-Identifier: MIT */
/*
 * Makes and loads tables. Ids past the table are skipped here, because the library reports them.
 */
#include "inputs/weights.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inputs/load.h"
#include "text/message.h"
#include "text/names.h"

/* The output function of splitmix64 (Steele, Lea and Flood 2014), a bijection on 64 bits. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static const uint64_t golden_gamma = UINT64_C(0x9e3779b97f4a7c15);

/* Returns random number `index` of the sequence of `key`. It uses only the top 24 bits, which are exact in float32. */
static float uniform(uint64_t key, uint64_t index)
{
    int32_t bits = (int32_t)(mix(key + (index + 1) * golden_gamma) >> 40);
    return (float)(bits - (1 << 23)) * 0x1p-23f;
}

/* Fills one row: sinusoids if there is a formula, random numbers otherwise. */
static int make_row(const inlay_sinusoid *sinusoid, uint64_t key, size_t id, size_t dim, float *out)
{
    if (sinusoid != NULL)
        return check_status(inlay_sinusoid_rows(sinusoid, (int64_t)id, 1, INLAY_F32, out, dim * sizeof *out, NULL));
    for (size_t column = 0; column < dim; column++)
        out[column] = uniform(key, (uint64_t)id * dim + column);
    return DONE;
}

int weights_make(const inlay_sinusoid *sinusoid, int64_t seed, size_t rows, size_t dim, const int64_t *ids, size_t n,
                 struct weights *weights)
{
    /* Without this mix, the sequences of neighboring seeds would be shifts of each other. */
    uint64_t key = mix((uint64_t)seed + golden_gamma);
    char what[80];
    snprintf(what, sizeof what, "a table float32 [%zu, %zu]", rows, dim);
    size_t row_bytes;
    if (__builtin_mul_overflow(dim, sizeof(float), &row_bytes))
        out_of_memory(what, (double)rows * (double)dim * sizeof(float));
    float *values = weights->arrays[ARRAY_DATA] = xcalloc(rows, row_bytes, what);
    bool *made = xcalloc(rows, sizeof *made, what);
    int outcome = DONE;
    for (size_t i = 0; outcome == DONE && i < n; i++) {
        uint64_t id = (uint64_t)ids[i];
        if (id >= rows || made[id])
            continue;
        made[id] = true;
        outcome = make_row(sinusoid, key, (size_t)id, dim, values + (size_t)id * dim);
    }
    free(made);
    weights->view = inlay_table_f32(values, rows, dim);
    weights->factor = 1;
    return outcome;
}

/* ---- Tables from files ------------------------------------------------------------------------------------------ */

/* Makes a view of the elements of a file. If `type` is 0, the elements determine the type. */
static int view_data(const char *path, const struct npy *npy, inlay_element_type type, size_t dim,
                     struct weights *weights)
{
    const char *descr = inlay_npy_type(npy->element)->name;
    if (type == 0)
        type = inlay_npy_type(npy->element)->element;
    if (type == 0)
        return failed("%s has elements '%s': give the element type with --table-type", shown(path), descr);
    const char *name = enum_name(ELEMENT_TYPES, (int)type), *wanted = inlay_npy_type(stored_element(type))->name;
    if (stored_element(type) != npy->element)
        return failed("%s has elements '%s', but a table of %s has '%s'", shown(path), descr, name, wanted);
    if (dim == 0 || stored_array(ARRAY_DATA, type, npy->rows, dim, 0).shape[1] != npy->dim)
        dim = stored_dim(type, npy->dim);
    if (dim == 0)
        return failed("%s has rows of %zu bytes, which match no dim of %s", shown(path), npy->dim, name);
    weights->view =
        inlay_table_view(type, weights->arrays[ARRAY_DATA], npy->rows, dim, inlay_table_row_bytes(type, dim));
    weights->view.group = inlay_table_min_group(type) > 0 ? 32 : 0; /* until the scales are loaded and determine it */
    return DONE;
}

/* Returns the number of columns per scale: the first that matches the array of scales, or 32. The shape is checked
   later. */
static uint32_t group_of(const inlay_table *table, const struct npy *scales)
{
    for (uint32_t group = inlay_table_min_group(table->type); group <= 128; group *= 2)
        if (stored_array(ARRAY_SCALES, table->type, table->rows, table->dim, group).shape[1] == scales->dim)
            return group;
    return 32;
}

/* Writes the type and shape of an array. */
static void describe_array(const struct array *array, char text[80])
{
    snprintf(text, 80, array->rank == 2 ? "'%s' [%zu, %zu]" : "'%s' [%zu]", inlay_npy_type(array->element)->name,
             array->shape[0], array->shape[1]);
}

/* Checks that an array has the shape and type that its table needs. */
static int check_companion(const char *path, int which, const struct npy *npy, const struct array *wanted)
{
    const struct array there = {npy->element, npy->rank, {npy->rows, npy->dim}, false};
    char found[80], needed[80];
    describe_array(&there, found);
    describe_array(wanted, needed);
    return strcmp(found, needed) == 0
               ? DONE
               : failed("the %s of %s are %s, but the table needs %s", stored_names[which], shown(path), found, needed);
}

/* Loads the scales or zero points of a table, if any. */
static int load_companion(const char *path, int which, struct weights *weights)
{
    inlay_table *view = &weights->view;
    struct npy npy;
    struct array wanted = stored_array(which, view->type, view->rows, view->dim, view->group);
    if (wanted.rank == 0)
        return DONE;
    char name[COMPANION_BYTES];
    companion_path(path, which, name);
    if (wanted.optional && access(name, F_OK) != 0)
        return DONE;
    TRY(load_npy(name, NPY_SCALES, &npy, &weights->arrays[which]));
    if (which == ARRAY_SCALES && view->group > 0) {
        view->group = group_of(view, &npy);
        wanted = stored_array(which, view->type, view->rows, view->dim, view->group);
    }
    return check_companion(path, which, &npy, &wanted);
}

/* Rejects a table if its dim differs from --dim. */
static int check_dim(const char *name, size_t dim, const inlay_table *table)
{
    if (dim == 0 || dim == table->dim)
        return DONE;
    /* Rows with one column less can have the same size. */
    const bool or_less = inlay_table_row_bytes(table->type, table->dim - 1) == table->stride_bytes;
    return or_less ? failed("--dim %zu contradicts %s, which has dim %zu or %zu: give one of them", dim, shown(name),
                            table->dim, table->dim - 1)
                   : failed("--dim %zu contradicts %s, which has dim %zu: drop --dim", dim, shown(name), table->dim);
}

int weights_load(const char *path, inlay_element_type type, size_t dim, struct weights *weights)
{
    struct npy npy;
    weights->factor = 1;
    TRY(load_npy(path, NPY_TABLE, &npy, &weights->arrays[ARRAY_DATA]));
    TRY(view_data(path, &npy, type, dim, weights));
    TRY(load_companion(path, ARRAY_SCALES, weights));
    TRY(load_companion(path, ARRAY_ZEROS, weights));
    weights->view.scales = weights->arrays[ARRAY_SCALES];
    weights->view.zeros = weights->arrays[ARRAY_ZEROS];
    return check_dim(path, dim, &weights->view);
}

/* Returns true if the rows of the tensor's module are another tensor, NAME.weight or NAME.weight_packed. The scales of
   these rows are such a tensor. */
static bool is_companion(const inlay_file *file, const inlay_file_tensor *tensor)
{
    const char *const rows[] = {"weight", "weight_packed"}, *end = strrchr(tensor->name, '.');
    const inlay_file_tensor *found = NULL;
    if (end == NULL)
        return false;
    const size_t size = (size_t)(end + 1 - tensor->name);
    char *name = xcalloc(size + 16, 1, "a name");
    memcpy(name, tensor->name, size);
    for (size_t i = 0; found == NULL && i < sizeof rows / sizeof *rows; i++) {
        strcpy(name + size, rows[i]);
        found = inlay_file_find_tensor(file, name);
    }
    free(name);
    return found != NULL && found->rank == 2 && found != tensor;
}

/* Finds the only tensor that can be a table. If there is none, sets *name to the first tensor [rows, dim], for
   the caller to report its error. */
static int find_table(const char *path, inlay_file *file, const char **name)
{
    size_t found = 0;
    for (size_t i = 0; found < 2 && i < inlay_file_tensor_count(file); i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        inlay_file_table table;
        if (tensor->rank != 2 || is_companion(file, tensor))
            continue;
        const bool is_table = inlay_file_get_table(file, tensor->name, &table, NULL) == INLAY_FILE_OK;
        if (is_table || *name == NULL)
            *name = tensor->name;
        found += is_table;
    }
    if (found > 1)
        return failed("%s has more than one tensor that can be a table: choose one with --table (inlay model lists "
                      "them)",
                      shown(path));
    return *name != NULL ? DONE : failed("%s has no table: none of its tensors has rows and columns", shown(path));
}

int weights_map(const char *path, const char **name, size_t dim, struct weights *weights)
{
    inlay_file_error error;
    inlay_file_table table;
    TRY(model_open(path, &weights->model));
    if (*name == NULL)
        TRY(find_table(path, weights->model.file, name));
    /* Files of scales next to a .npy file are not searched here: the path of a folder or a link doesn't determine their
       names. */
    const inlay_file_tensor *tensor = inlay_file_find_tensor(weights->model.file, *name);
    if (tensor != NULL && strcmp(tensor->type, inlay_npy_type(NPY_I1)->name) == 0)
        return failed("%s is int8 from a .npy file and may have scales in a second file: give the path that ends in "
                      ".npy (inlay embed: as --table, without --model)",
                      shown(path));
    if (inlay_file_get_table(weights->model.file, *name, &table, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    weights->view = table.view;
    weights->factor = table.scale;
    return check_dim(*name, dim, &weights->view);
}
