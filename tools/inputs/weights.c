/* SPDX-License-Identifier: MIT */
/*
 * The tables of weights.h. Ids past the table are skipped here: reporting them is the library's part.
 */
#include "inputs/weights.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "inputs/load.h"
#include "inputs/model_file.h"
#include "inputs/stored.h"
#include "text/message.h"
#include "text/names.h"

/* The output function of splitmix64 (Steele, Lea and Flood 2014), a bijection of 64 bits. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static const uint64_t golden_gamma = UINT64_C(0x9e3779b97f4a7c15);

/* Element `index` of the sequence of `key`: the top 24 bits, which a float32 holds exactly. */
static float uniform(uint64_t key, uint64_t index)
{
    int32_t bits = (int32_t)(mix(key + (index + 1) * golden_gamma) >> 40);
    return (float)(bits - (1 << 23)) * 0x1p-23f;
}

/* Writes the row of an id: of the sinusoid, or where that is null, random. */
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
    /* Mixed first, so that the sequences of neighbouring seeds are not shifts of each other. */
    uint64_t key = mix((uint64_t)seed + golden_gamma);
    size_t row_bytes;
    bool *made = calloc(rows, sizeof *made);
    if (!__builtin_mul_overflow(dim, sizeof(float), &row_bytes))
        weights->data = calloc(rows, row_bytes);
    int outcome = DONE;
    if (made == NULL || weights->data == NULL) {
        char what[80];
        snprintf(what, sizeof what, "a table float32 [%zu, %zu]", rows, dim);
        outcome = out_of_memory(what, (double)rows * (double)dim * sizeof(float));
    }
    float *values = weights->data;
    for (size_t i = 0; outcome == DONE && i < n; i++) {
        uint64_t id = (uint64_t)ids[i];
        if (id >= rows || made[id])
            continue;
        made[id] = true;
        outcome = make_row(sinusoid, key, (size_t)id, dim, values + (size_t)id * dim);
    }
    free(made);
    weights->view = inlay_table_f32(weights->data, rows, dim);
    weights->factor = 1;
    return outcome;
}

/* ---- Tables from files ------------------------------------------------------------------------------------------ */

/* Makes the view of the elements of a file, whose `type` may be 0. */
static int view_data(const char *path, const struct npy *npy, inlay_element_type type, size_t dim,
                     struct weights *weights)
{
    const char *descr = inlay_npy_descr(npy->element);
    if (type == 0)
        type = stored_type(npy->element);
    if (type == 0)
        return failed("%s has elements '%s': say by --table-type of which type the table is", shown(path), descr);
    const char *name = enum_name(ELEMENT_TYPES, (int)type), *wanted = inlay_npy_descr(stored_element(type));
    if (stored_element(type) != npy->element)
        return failed("%s has elements '%s', and a table of %s has '%s'", shown(path), descr, name, wanted);
    if (dim == 0 || stored_data(type, npy->rows, dim).shape[1] != npy->dim)
        dim = stored_dim(type, npy->dim);
    if (dim == 0)
        return failed("%s has rows of %zu bytes, and no row of %s has as many", shown(path), npy->dim, name);
    weights->view = inlay_table_of(type, weights->data, npy->rows, dim, inlay_table_row_bytes(type, dim));
    return DONE;
}

/* Loads the file NAME.`what`.npy. Where it may be missing and is, *npy has rank 0. */
static int load_beside(const char *path, const char *what, bool optional, struct npy *npy, void **data)
{
    *npy = (struct npy){.rank = 0};
    char *name = stored_beside(path, what);
    int outcome = name != NULL ? DONE : out_of_memory("a name", 0);
    if (outcome == DONE && !(optional && access(name, F_OK) != 0))
        outcome = load_npy(name, NPY_BESIDE, npy, data);
    free(name);
    return outcome;
}

/* Writes the type and shape of an array. */
static void describe_array(enum npy_element element, size_t rank, size_t rows, size_t dim, char *text, size_t size)
{
    *text = '\0';
    append(text, size, rank == 2 ? "'%s' [%zu, %zu]" : "'%s' [%zu]", inlay_npy_descr(element), rows, dim);
}

/* Checks that an array beside a table is the one that belongs to it. */
static int check_beside(const char *path, const char *what, const struct npy *npy, const struct array *wanted)
{
    if (npy->element == wanted->element && npy->rank == wanted->rank && npy->rows == wanted->shape[0] &&
        npy->dim == wanted->shape[1])
        return DONE;
    char found[80], needed[80];
    describe_array(npy->element, npy->rank, npy->rows, npy->dim, found, sizeof found);
    describe_array(wanted->element, wanted->rank, wanted->shape[0], wanted->shape[1], needed, sizeof needed);
    return failed("the %s beside %s are %s, and the table needs %s", what, shown(path), found, needed);
}

/* Columns for each scale, which the number of scales tells; 32 where that makes no sense, which the shape then says. */
static uint32_t group_of(const inlay_table *table, const struct npy *scales)
{
    bool divides = scales->dim > 0 && table->dim % scales->dim == 0;
    size_t group = divides ? table->dim / scales->dim : 0;
    return group == 64 || group == 128 ? (uint32_t)group : 32;
}

static int load_scales(const char *path, struct weights *weights)
{
    inlay_table *view = &weights->view;
    struct npy npy;
    struct array scales = stored_scales(view->type, view->rows, view->dim, 32);
    if (scales.rank == 0)
        return DONE;
    TRY(load_beside(path, "scales", scales.optional, &npy, &weights->scales));
    if (npy.rank == 0)
        return DONE;
    if (stored_in_groups(view->type))
        view->group = group_of(view, &npy);
    scales = stored_scales(view->type, view->rows, view->dim, view->group);
    view->scales = weights->scales;
    return check_beside(path, "scales", &npy, &scales);
}

static int load_zeros(const char *path, struct weights *weights)
{
    inlay_table *view = &weights->view;
    struct npy npy;
    const struct array zeros = stored_zeros(view->type, view->rows, view->dim, view->group);
    if (zeros.rank == 0)
        return DONE;
    TRY(load_beside(path, "zeros", zeros.optional, &npy, &weights->zeros));
    if (npy.rank == 0)
        return DONE;
    view->zeros = weights->zeros;
    return check_beside(path, "zeros", &npy, &zeros);
}

int weights_load(const char *path, inlay_element_type type, size_t dim, struct weights *weights)
{
    struct npy npy;
    weights->factor = 1;
    TRY(load_npy(path, NPY_TABLE, &npy, &weights->data));
    TRY(view_data(path, &npy, type, dim, weights));
    TRY(load_scales(path, weights));
    return load_zeros(path, weights);
}

int weights_map(const char *path, const char **name, struct weights *weights)
{
    return model_table_open(path, name, &weights->file, &weights->view, &weights->factor);
}

void weights_free(struct weights *weights)
{
    free(weights->data);
    free(weights->scales);
    free(weights->zeros);
    model_close(weights->file);
}
