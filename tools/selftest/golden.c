/* SPDX-License-Identifier: MIT */
/*
 * Golden checks: their expected results were computed by other programs. tests/tool/test_selftest.py makes the digests
 * from these results, without the library.
 */
#include "selftest/check.h"

#include <stdlib.h>
#include <string.h>

/* Rows of ggml's types. */
static const struct ggml_row {
    const char *name;
    inlay_element_type type;
    size_t dim;
    const char *row; /* as hexadecimal digits */
    const uint32_t *values;
} ggml_rows[] = {
#include "../tests/tables/ggml_golden.inc"
};

static void ggml_run(struct trial *trial, size_t item)
{
    const struct ggml_row *wanted = &ggml_rows[item];
    const int32_t id = 0;
    const size_t row_bytes = strlen(wanted->row) / 2, out_bytes = wanted->dim * sizeof(float);
    unsigned char *row = trial_array(trial, row_bytes), *out = trial_array(trial, out_bytes);
    for (size_t i = 0; i < row_bytes; i++)
        row[i] = (unsigned char)strtoul((char[]){wanted->row[2 * i], wanted->row[2 * i + 1], '\0'}, NULL, 16);
    const inlay_table table = inlay_table_view(wanted->type, row, 1, wanted->dim, row_bytes);
    trial_ok(trial, "inlay_gather", inlay_gather(&table, &id, INLAY_ID_I32, 1, 1, out, out_bytes, NULL, NULL));
    trial_bytes(trial, out, out_bytes);
}

const struct family ggml_checks = {"golden", ggml_run, ITEMS_OF(ggml_rows)};

/* Products of all E4M3 numbers and all E8M0 scales, in every output type. PyTorch computed them:
   tests/data/ngram/fp8.txt. */
static void fp8_products(struct trial *trial)
{
    enum { N = 256, SCALES = N / 32 };
    static const int64_t offsets[] = {0, N};
    unsigned char *codes = trial_array(trial, N * N), *scales = trial_array(trial, N * SCALES);
    for (size_t i = 0; i < N; i++) {
        for (size_t code = 0; code < N; code++)
            codes[i * N + code] = (unsigned char)code;
        memset(scales + i * SCALES, (int)i, SCALES);
    }
    const inlay_table table = inlay_table_e4m3_e8m0(codes, scales, N, N);
    const inlay_batch rows = inlay_batch_ragged(codes, INLAY_ID_U8, offsets, 1, 0); /* every row once */
    inlay_layer_spec spec = inlay_layer_spec_default(&table);
    for (spec.out_type = INLAY_F32; spec.out_type <= INLAY_BF16; spec.out_type++)
        trial_forward(trial, &spec, &rows, N);
}

/* sin p, cos p, sin(p / 100), cos(p / 100), as computed by mpmath. */
static void far_sinusoids(struct trial *trial)
{
    static const int64_t positions[] = {1, 2000000000, 2147483647};
    float out[3][4] = {{0}};
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(4);
    const inlay_sinusoid *sinusoid = trial_sinusoid(trial, &spec);
    trial_ok(trial, "inlay_sinusoid_at",
             inlay_sinusoid_at(sinusoid, positions, INLAY_POSITION_I64, 3, INLAY_F32, out, sizeof *out, trial->executor,
                               NULL));
    trial_bytes(trial, out, sizeof out);
}

/* The uniform numbers and the mask that follow from the first words of Philox4x32-10 with key 0, from Random123. */
static void philox_numbers(struct trial *trial)
{
    float out[4] = {0};
    const inlay_random_spec spec = inlay_random_spec_default(INLAY_RANDOM_UNIFORM, 0);
    trial_ok(trial, "inlay_table_random", inlay_table_random(&spec, out, 1, 4, sizeof out));
    trial_bytes(trial, out, sizeof out);
}

static void philox_dropout(struct trial *trial)
{
    static const float ones[4] = {1, 1, 1, 1};
    const int32_t id = 0;
    const inlay_table table = inlay_table_f32(ones, 1, 4);
    const inlay_layer_spec spec = inlay_layer_spec_default(&table);
    inlay_batch batch = inlay_batch_i32(&id, 1, 1, 0);
    batch.dropout = 0.5f;
    trial_forward(trial, &spec, &batch, 1);
}

/* The call `prefill` of tests/data/ngram/demo-n2.txt: from the demo of Engram's authors. */
static void engram_rows(struct trial *trial)
{
    static const int64_t multipliers[] = {91738049023710391, 104713328209570553}, offsets[] = {0, 0, 1, 3, 9};
    static const int32_t ids[] = {51, 1, 48, 59, 40, 17, 59, 1, 56};
    static const inlay_ngram_column columns[] = {{2, 0, 1009, 0, 0}, {2, 0, 1013, 0, 1009}, {2, 0, 1019, 0, 2022}};
    int32_t out[9][3] = {{0}};
    inlay_ngram_spec spec = inlay_ngram_spec_default(60, 2, INLAY_NGRAM_MIX_XOR);
    spec.pad = 1;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = 3;
    inlay_ngram *ngram;
    trial_ok(trial, "inlay_ngram_create", inlay_ngram_create(&spec, &in_arena, &ngram));
    const inlay_ngram_batch batch = inlay_ngram_batch_ragged(ids, INLAY_ID_I32, offsets, 4);
    trial_ok(trial, "inlay_ngram_ids",
             inlay_ngram_ids(ngram, &batch, 0, 3, INLAY_ID_I32, out, sizeof *out, trial->executor, NULL));
    trial_bytes(trial, out, sizeof out);
}

static const struct golden_check {
    const char *name;
    void (*run)(struct trial *trial);
} checks[] = {
    {"FP8, from PyTorch", fp8_products},
    {"sinusoids up to 2147483647, from mpmath", far_sinusoids},
    {"Philox numbers, from Random123", philox_numbers},
    {"Philox dropout, from Random123", philox_dropout},
    {"n-gram rows, from Engram", engram_rows},
};

static void golden_run(struct trial *trial, size_t item)
{
    checks[item].run(trial);
}

const struct family golden_checks = {"golden", golden_run, ITEMS_OF(checks)};
