/* SPDX-License-Identifier: MIT */
/*
 * Checks of tables: rows of every element type, quantising, random tables and the plain operations.
 */
#include "selftest/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/names.h"

enum { ROWS = 29, IDS = 70 };

static bool is_grouped(inlay_element_type type)
{
    return type == INLAY_U4_GROUPED || type == INLAY_U4_GROUPED_FLAT || type == INLAY_I8_GROUPED ||
           type == INLAY_U8_GROUPED;
}

static bool has_scales(inlay_element_type type)
{
    return type == INLAY_I8 || type == INLAY_I8_INVERSE || type == INLAY_E4M3 || type == INLAY_E4M3_E8M0 ||
           type == INLAY_E2M1_F32 || is_grouped(type);
}

/* Returns how many scales a row has. */
static size_t scales_of_row(inlay_element_type type, size_t dim)
{
    return type == INLAY_E2M1_F32 ? dim / 16 : is_grouped(type) ? dim / 32 : 1;
}

/* Returns the bytes of the zero points of a row of a grouped type. */
static size_t zero_bytes(inlay_element_type type, size_t groups)
{
    return type == INLAY_I8_GROUPED || type == INLAY_U8_GROUPED ? groups : (groups + 1) / 2;
}

/* Rows are random bytes, so that floats within them are NaN and infinite too; but those of float32 are ordinary. */
inlay_table trial_table(struct trial *trial, inlay_element_type type, size_t rows, size_t dim, uint64_t seed)
{
    const size_t stride = inlay_table_row_bytes(type, dim), groups = dim / 32;
    inlay_table table = inlay_table_of(type, NULL, rows, dim, stride);
    table.data = type == INLAY_F32 ? trial_floats(trial, rows * dim, seed) : trial_noise(trial, rows * stride, seed);
    if (type == INLAY_E4M3_E8M0)
        table.scales = trial_noise(trial, rows * groups, seed + 1);
    else if (has_scales(type))
        table.scales = trial_floats(trial, rows * scales_of_row(type, dim), seed + 1);
    if (is_grouped(type)) {
        table.group = 32;
        table.zeros = trial_noise(trial, rows * zero_bytes(type, groups), seed + 2);
    }
    return table;
}

const char *element_item(size_t item)
{
    return enum_name(ELEMENT_TYPES, (int)item + 1);
}

/* Whether a type has rows of a dim that is no multiple of its blocks or groups. */
static bool has_dim(inlay_element_type type, size_t dim)
{
    return inlay_table_row_bytes(type, dim) > 0 && !(is_grouped(type) && dim % 32 != 0);
}

void gather_run(struct trial *trial, size_t item)
{
    static const size_t dims[] = {1, 67, 512};
    const inlay_element_type type = (inlay_element_type)(item + 1);
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        const size_t dim = dims[d], stride = dim * sizeof(float) + 3;
        if (!has_dim(type, dim))
            continue;
        const inlay_table table = trial_table(trial, type, ROWS, dim, item * 16 + d);
        int32_t *ids = trial_array(trial, IDS * sizeof *ids);
        uint64_t state = item;
        for (size_t i = 0; i < IDS; i++)
            put_id(ids, INLAY_ID_I32, i, (int64_t)(next_random(&state) % ROWS));
        unsigned char *out = trial_array(trial, IDS * stride);
        for (int scaled = 0; scaled < 2; scaled++) {
            const float scale = scaled ? 1.7f : 1;
            if (trial_ok(trial, "inlay_gather",
                         inlay_gather(&table, ids, INLAY_ID_I32, IDS, scale, out, stride, trial->executor, NULL)))
                trial_rows(trial, out, IDS, dim, stride, INLAY_F32);
        }
    }
}

/* The flat kind without zero points holds no negative values, so that grouped types are always given zero points. */
void quantize_run(struct trial *trial, size_t item)
{
    enum { DIM = 512, GROUPS = DIM / 32 };
    const inlay_element_type type = (inlay_element_type)(item + 1);
    const inlay_table from = trial_table(trial, INLAY_F32, ROWS, DIM, item);
    const size_t bytes = ROWS * inlay_table_row_bytes(type, DIM);
    const size_t scales = type == INLAY_E4M3_E8M0 ? ROWS * GROUPS : ROWS * sizeof(float) * scales_of_row(type, DIM);
    inlay_table_storage to = inlay_table_storage_of(type, trial_array(trial, bytes), DIM);
    to.group = is_grouped(type) ? 32 : 0;
    to.scales = has_scales(type) ? trial_array(trial, scales) : NULL;
    to.zeros = is_grouped(type) ? trial_array(trial, ROWS * zero_bytes(type, GROUPS)) : NULL;
    double error = 0;
    /* float32 is what is converted from, and no type to convert to. */
    const inlay_status status = inlay_table_quantize(&from, &to, NULL, &error);
    trial_bytes(trial, &(uint32_t){(uint32_t)status}, sizeof(uint32_t));
    if (type == INLAY_F32 || !trial_ok(trial, "inlay_table_quantize", status))
        return;
    trial_bytes(trial, to.data, bytes);
    trial_bytes(trial, &error, sizeof error);
    if (to.scales != NULL)
        trial_bytes(trial, to.scales, scales);
    if (to.zeros != NULL)
        trial_bytes(trial, to.zeros, ROWS * zero_bytes(type, GROUPS));
}

/* ---- Random tables ---------------------------------------------------------------------------------------------- */

/* Fields of inlay_random_spec, and the SHA-256 of the rows, as the tests have them. */
static const struct random_table {
    const char *name;
    inlay_random_kind kind;
    uint64_t key, offset;
    double mean, deviation, low, high;
    int64_t zero_row;
    const char *sha256;
} random_tables[] = {
#include "../tests/random_sha256.inc"
};

const char *random_item(size_t item)
{
    return item < sizeof random_tables / sizeof *random_tables ? random_tables[item].name : NULL;
}

void random_run(struct trial *trial, size_t item)
{
    enum { RANDOM_ROWS = 40, DIM = 33 };
    const struct random_table *wanted = &random_tables[item];
    inlay_random_spec spec = inlay_random_spec_default(wanted->kind, wanted->key);
    spec.offset = wanted->offset;
    spec.mean = wanted->mean;
    spec.deviation = wanted->deviation;
    spec.low = wanted->low;
    spec.high = wanted->high;
    spec.zero_row = wanted->zero_row;
    float *out = trial_array(trial, RANDOM_ROWS * DIM * sizeof *out);
    if (trial_ok(trial, "inlay_table_random", inlay_table_random(&spec, out, RANDOM_ROWS, DIM, DIM * sizeof *out))) {
        trial_bytes(trial, out, RANDOM_ROWS * DIM * sizeof *out);
        trial_expect_sha256(trial, wanted->sha256);
    }
}

/* ---- The plain operations --------------------------------------------------------------------------------------- */

static void scale_rows(struct trial *trial)
{
    enum { N = 200, DIM = 515, STRIDE = DIM * sizeof(float) };
    const void *x = trial_floats(trial, N * DIM, 5);
    void *out = trial_array(trial, N * STRIDE);
    if (trial_ok(trial, "inlay_scale", inlay_scale(x, STRIDE, N, DIM, 0.3f, out, STRIDE, trial->executor)))
        trial_rows(trial, out, N, DIM, STRIDE, INLAY_F32);
}

static void add_positions(struct trial *trial)
{
    enum { BATCH = 4, SEQ = 50, DIM = 515, STRIDE = DIM * sizeof(float) + 1 };
    const inlay_table positions = trial_table(trial, INLAY_F16, SEQ + 9, DIM, 7);
    void *x = trial_array(trial, BATCH * SEQ * STRIDE);
    const unsigned char *values = trial_floats(trial, BATCH * SEQ * DIM, 6);
    for (size_t i = 0; i < BATCH * SEQ; i++)
        memcpy((unsigned char *)x + i * STRIDE, values + i * DIM * sizeof(float), DIM * sizeof(float));
    if (trial_ok(trial, "inlay_add_positions",
                 inlay_add_positions(x, STRIDE, BATCH, SEQ, &positions, 9, trial->executor, NULL)))
        trial_rows(trial, x, BATCH * SEQ, DIM, STRIDE, INLAY_F32);
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
    {"scale", scale_rows},
    {"positions are added", add_positions},
    {"square roots of dims", square_roots},
};

const char *plain_item(size_t item)
{
    return item < sizeof plain_operations / sizeof *plain_operations ? plain_operations[item].name : NULL;
}

void plain_run(struct trial *trial, size_t item)
{
    plain_operations[item].run(trial);
}
