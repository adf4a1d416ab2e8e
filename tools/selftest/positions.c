/* SPDX-License-Identifier: MIT */
/*
 * Checks of positions: sinusoid tables that the tests compare with MPFR, every recipe with its conventions, lists of
 * positions, rotary tables with every scaling, and rotations.
 */
#include "selftest/check.h"

#include <stdlib.h>
#include <string.h>

#include "../tests/positions/sinusoid_tables.h"
#include "text/names.h"

static const char *sinusoid_item(size_t item)
{
    static char name[CHECK_NAME_BYTES];
    if (item >= sizeof sinusoid_tables / sizeof *sinusoid_tables)
        return NULL;
    const struct sinusoid_table *table = &sinusoid_tables[item];
    snprintf(name, sizeof name, "%s, %zu columns from %lld (%zu)", inlay_recipe_name(table->recipe), table->dim,
             (long long)table->first, item);
    return name;
}

static void sinusoid_run(struct trial *trial, size_t item)
{
    const struct sinusoid_table *table = &sinusoid_tables[item];
    const inlay_element_type type = sinusoid_table_type(table);
    const size_t stride = inlay_table_row_bytes(type, table->dim);
    const inlay_sinusoid_spec spec = sinusoid_table_spec(table);
    unsigned char *rows = trial_array(trial, table->n * stride), *positions = trial_array(trial, table->n * 8);
    for (size_t i = 0; i < table->n; i++) {
        const double position = (double)table->first + (double)i * table->step;
        memcpy(positions + i * 8, &position, 8);
    }
    const inlay_sinusoid *sinusoid = trial_sinusoid(trial, &spec);
    const inlay_status status =
        table->step == 0 ? inlay_sinusoid_rows(sinusoid, table->first, table->n, type, rows, stride, trial->executor)
                         : inlay_sinusoid_at(sinusoid, positions, INLAY_POSITION_F64, table->n, type, rows, stride,
                                             trial->executor, NULL);
    trial_ok(trial, "a call of inlay_sinusoid", status);
    trial_bytes(trial, rows, table->n * stride);
}

const struct family sinusoid_checks = {"sinusoids", sinusoid_run, .item = sinusoid_item, .once = true};

/* ---- Recipes ---------------------------------------------------------------------------------------------------- */

static const char *recipe_item(size_t item)
{
    return inlay_recipe_name((inlay_recipe)item);
}

static void write_list(struct trial *trial, const inlay_sinusoid *sinusoid, const void *positions,
                       inlay_position_type position_type, size_t n, size_t dim, inlay_element_type type)
{
    const size_t stride = inlay_table_row_bytes(type, dim) + 1;
    void *out = trial_array(trial, n * stride);
    trial_ok(trial, "inlay_sinusoid_at",
             inlay_sinusoid_at(sinusoid, positions, position_type, n, type, out, stride, trial->executor, NULL));
    trial_rows(trial, out, n, dim, stride, type);
}

/* Integer and fractional positions, small and large, with an even and an odd dim, in every output type. */
static void recipe_run(struct trial *trial, size_t item)
{
    static const int64_t whole[] = {0, 1, 2, 511, 4096, 100000, 16777217, 2000000000, 2147483647};
    static const double reals[] = {0.5, -1.25, 999.75, 0x1p-30, -2147483646.5, 123456.789};
    static const float singles[] = {0.5f, -1.25f, 999.75f, 0x1p-30f, 2147483520.f, 0.1f};
    static const size_t dims[] = {64, 33};
    for (size_t d = 0; d < 2; d++) {
        const inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe((inlay_recipe)item, dims[d]);
        inlay_sinusoid *sinusoid;
        const inlay_status status = inlay_sinusoid_create(&spec, &in_arena, &sinusoid);
        trial_bytes(trial, &(uint32_t){(uint32_t)status}, sizeof(uint32_t));
        /* Some frameworks don't support odd dims. */
        if (status == INLAY_ERROR_SHAPE && spec.odd == INLAY_SINUSOID_ODD_ERROR && dims[d] % 2 == 1)
            continue;
        trial_ok(trial, "inlay_sinusoid_create", status);
        for (inlay_element_type type = INLAY_F32; type <= INLAY_BF16; type++) {
            write_list(trial, sinusoid, whole, INLAY_POSITION_I64, sizeof whole / sizeof *whole, dims[d], type);
            write_list(trial, sinusoid, reals, INLAY_POSITION_F64, sizeof reals / sizeof *reals, dims[d], type);
            write_list(trial, sinusoid, singles, INLAY_POSITION_F32, sizeof singles / sizeof *singles, dims[d], type);
        }
    }
}

const struct family recipe_checks = {"recipe", recipe_run, .item = recipe_item};

/* ---- Rotary tables ---------------------------------------------------------------------------------------------- */

static const char *rotary_item(size_t item)
{
    return enum_name(SCALINGS, (int)item + 1);
}

static void rotary_run(struct trial *trial, size_t item)
{
    enum { DIM = 64, N = 40 };
    double factors[DIM / 2], frequencies[DIM / 2] = {0}, attention = 0;
    for (size_t i = 0; i < DIM / 2; i++)
        factors[i] = 1 + (double)i / 8;
    inlay_rotary_spec rotary = inlay_rotary_spec_default(DIM);
    rotary.scaling = (inlay_rotary_scaling)(item + 1);
    rotary.base = 500000;
    rotary.factor = 8;
    rotary.original_length = 8192;
    rotary.length = 40000;
    rotary.low_freq_factor = 1;
    rotary.high_freq_factor = 4;
    rotary.short_factors = factors;
    rotary.long_factors = factors;
    trial_ok(trial, "inlay_rotary_frequencies", inlay_rotary_frequencies(&rotary, frequencies, &attention));
    trial_bytes(trial, frequencies, sizeof frequencies);
    trial_bytes(trial, &attention, sizeof attention);
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(DIM);
    spec.inv_freq = frequencies;
    spec.amplitude = attention;
    for (spec.float_angles = 0; spec.float_angles < 2; spec.float_angles++) {
        const inlay_sinusoid *sinusoid = trial_sinusoid(trial, &spec);
        for (inlay_rotary_layout layout = INLAY_ROTARY_PAIRS; layout <= INLAY_ROTARY_INTERLEAVED; layout++) {
            const inlay_element_type type = (inlay_element_type)layout; /* a different type for each layout */
            const size_t columns = layout == INLAY_ROTARY_PAIRS ? DIM / 2 : DIM;
            const size_t bytes = inlay_table_row_bytes(type, columns), stride = 2 * bytes;
            unsigned char *out = trial_array(trial, N * stride);
            trial_ok(trial, "inlay_rotary_rows",
                     inlay_rotary_rows(sinusoid, 131000, N, type, layout, out, out + bytes, stride, trial->executor));
            trial_rows(trial, out, N, 2 * columns, stride, type);
        }
    }
}

const struct family rotary_checks = {"rotary", rotary_run, .item = rotary_item};

/* ---- Rotations of queries and keys ------------------------------------------------------------------------------ */

static const char *rotation_item(size_t item)
{
    return item < INLAY_BF16 ? inlay_element_type_name((inlay_element_type)(item + 1), 0) : NULL;
}

/* Rotates queries in place and keys into another array, then rotates both back, at cached and at computed positions. */
static void rotation_run(struct trial *trial, size_t item)
{
    enum { QUERIES = 3, KEYS = 1, REST = 3, N = 40 };
    static const size_t dims[] = {10, 64, 80};
    const inlay_element_type type = (inlay_element_type)(item + 1);
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (int way = 0; way < 4; way++) {
            const size_t columns = dims[d] + REST, head = inlay_table_row_bytes(type, columns);
            uint64_t seed = 20 * d + (uint64_t)way;
            inlay_rotary_spec spec = inlay_rotary_spec_default(dims[d]);
            spec.cached_positions = 100;
            spec.layout = way % 2 == 0 ? INLAY_ROTARY_HALVES : INLAY_ROTARY_INTERLEAVED;
            inlay_rotary *rotary;
            trial_ok(trial, "inlay_rotary_create", inlay_rotary_create(&spec, &in_arena, &rotary));
            inlay_batch batch = inlay_batch_i32(NULL, 1, N, 0);
            batch.position_ids = trial_ids(trial, INLAY_ID_I64, N, 0, way < 2 ? 200 : INLAY_POSITION_LIMIT, &seed);
            batch.position_id_type = INLAY_ID_I64;
            inlay_rotary_tensor tensors[] = {
                inlay_rotary_in_place(type, trial_noise(trial, N * QUERIES * head, seed), QUERIES, columns),
                inlay_rotary_in_place(type, trial_noise(trial, N * KEYS * head, seed + 1), KEYS, columns)};
            tensors[1].out = trial_array(trial, N * KEYS * head);
            trial_ok(trial, "inlay_rotate",
                     inlay_rotate(rotary, &batch, tensors, 2, way < 2 ? INLAY_ROTARY_FORWARD : INLAY_ROTARY_INVERSE,
                                  trial->executor, NULL));
            trial_rows(trial, tensors[0].out, (size_t)N * QUERIES, columns, head, type);
            trial_rows(trial, tensors[1].out, (size_t)N * KEYS, columns, head, type);
        }
}

const struct family rotation_checks = {"rotation", rotation_run, .item = rotation_item};
