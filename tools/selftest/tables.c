/* SPDX-License-Identifier: MIT */
/*
 * Checks of tables: rows of every element type, quantizing, random tables and the plain operations.
 */
#include "selftest/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/stored.h"
#include "text/names.h"

enum { GROUP = 32 };

/* Float32 rows are ordinary numbers. Rows of other types are random bytes, so floats in them can be NaN or infinite. */
inlay_table trial_table(struct trial *trial, inlay_element_type type, size_t rows, size_t dim, uint64_t seed)
{
    const size_t stride = inlay_table_row_bytes(type, dim);
    inlay_table table = inlay_table_view(type, NULL, rows, dim, stride);
    table.group = inlay_table_min_group(type) > 0 ? GROUP : 0;
    const struct array scales = stored_array(ARRAY_SCALES, type, rows, dim, GROUP),
                       zeros = stored_array(ARRAY_ZEROS, type, rows, dim, GROUP);
    table.data = type == INLAY_F32 ? trial_floats(trial, rows * dim, seed) : trial_noise(trial, rows * stride, seed);
    if (scales.rank > 0)
        table.scales = scales.element == NPY_F4 ? trial_floats(trial, scales.shape[0] * scales.shape[1], seed + 1)
                                                : trial_noise(trial, array_bytes(&scales), seed + 1);
    if (zeros.rank > 0)
        table.zeros = trial_noise(trial, array_bytes(&zeros), seed + 2);
    return table;
}

bool has_dim(inlay_element_type type, size_t dim)
{
    return inlay_table_row_bytes(type, dim) > 0 && (inlay_table_min_group(type) == 0 || dim % GROUP == 0);
}

const char *element_item(size_t item)
{
    return enum_name(ELEMENT_TYPES, (int)item + 1);
}

/* Returns memory for an array of a table, or null if it is absent. */
static void *trial_storage(struct trial *trial, const struct array *array)
{
    return array->rank > 0 ? trial_array(trial, array_bytes(array)) : NULL;
}

/* Grouped types always get zero points: without them, INLAY_U4_GROUPED_FLAT can't represent negative values. */
static void quantize_run(struct trial *trial, size_t item)
{
    enum { ROWS = 29, DIM = 512 };
    const inlay_element_type type = (inlay_element_type)(item + 1);
    const inlay_table from = trial_table(trial, INLAY_F32, ROWS, DIM, item);
    const struct array data = stored_array(ARRAY_DATA, type, ROWS, DIM, 0),
                       scales = stored_array(ARRAY_SCALES, type, ROWS, DIM, GROUP);
    const struct array zeros = stored_array(ARRAY_ZEROS, type, ROWS, DIM, GROUP);
    inlay_table_storage to = inlay_table_storage_of(type, trial_storage(trial, &data), DIM);
    to.group = inlay_table_min_group(type) > 0 ? GROUP : 0;
    to.scales = trial_storage(trial, &scales);
    to.zeros = trial_storage(trial, &zeros);
    double error = 0;
    /* Quantizing to float32 is an error. Only the status is checked. */
    const inlay_status status = inlay_table_quantize(&from, &to, NULL, &error);
    trial_bytes(trial, &(uint32_t){(uint32_t)status}, sizeof(uint32_t));
    if (type == INLAY_F32)
        return;
    trial_ok(trial, "inlay_table_quantize", status);
    trial_bytes(trial, to.data, array_bytes(&data));
    trial_bytes(trial, &error, sizeof error);
    trial_bytes(trial, to.scales, array_bytes(&scales));
    trial_bytes(trial, to.zeros, array_bytes(&zeros));
}

const struct family quantize_checks = {"quantize", quantize_run, .item = element_item};

/* ---- Random tables ---------------------------------------------------------------------------------------------- */

static const struct random_table {
    const char *name;
    inlay_random_spec spec;
    const char *sha256; /* of the rows; tests/tables/test_random.c reads it */
} random_tables[] = {
#include "../tests/tables/random_sha256.inc"
};

static void random_run(struct trial *trial, size_t item)
{
    enum { RANDOM_ROWS = 40, DIM = 33 };
    inlay_random_spec spec = random_tables[item].spec;
    spec.size = sizeof spec;
    float *out = trial_array(trial, RANDOM_ROWS * DIM * sizeof *out);
    trial_ok(trial, "inlay_table_random", inlay_table_random(&spec, out, RANDOM_ROWS, DIM, DIM * sizeof *out));
    trial_bytes(trial, out, RANDOM_ROWS * DIM * sizeof *out);
}

const struct family random_checks = {"random", random_run, ITEMS_OF(random_tables)};

/* ---- The plain operations --------------------------------------------------------------------------------------- */

/* Every call uses a different executor and different strides. */
static void composed_layer(struct trial *trial)
{
    enum { SEQUENCES = 4, LENGTH = 50, TOKENS = SEQUENCES * LENGTH, VOCAB = 40, DIM = 515, STRIDE = DIM * 4 + 1 };
    const inlay_table tokens = trial_table(trial, INLAY_F32, VOCAB, DIM, 5);
    const inlay_table positions = trial_table(trial, INLAY_F16, LENGTH + 9, DIM, 7);
    const void *ids = trial_ids(trial, INLAY_ID_I32, TOKENS, 0, VOCAB, &(uint64_t){6});
    void *rows = trial_array(trial, TOKENS * STRIDE), *out = trial_array(trial, TOKENS * STRIDE);
    trial_ok(trial, "inlay_gather",
             inlay_gather(&tokens, ids, INLAY_ID_I32, TOKENS, 1, rows, STRIDE, trial->executor, NULL));
    trial_ok(trial, "inlay_scale", inlay_scale(rows, STRIDE, TOKENS, DIM, 0.3f, out, STRIDE, trial->executor));
    trial_ok(trial, "inlay_add_positions",
             inlay_add_positions(out, STRIDE, SEQUENCES, LENGTH, &positions, 9, trial->executor, NULL));
    trial_rows(trial, out, TOKENS, DIM, STRIDE, INLAY_F32);
}

static void square_roots(struct trial *trial)
{
    for (size_t dim = 1; dim < 20000; dim += dim / 16 + 1) {
        const float root = inlay_sqrt_dim(dim);
        trial_bytes(trial, &root, sizeof root);
    }
}

static const struct plain_operation {
    const char *name;
    void (*run)(struct trial *trial);
} plain_operations[] = {
    {"gather, scale, positions", composed_layer},
    {"square roots of dims", square_roots},
};

static void plain_run(struct trial *trial, size_t item)
{
    plain_operations[item].run(trial);
}

const struct family plain_checks = {"plain", plain_run, ITEMS_OF(plain_operations)};
