/* SPDX-License-Identifier: MIT */
/*
 * Golden values: results that do not come from this library. Each says where it is from; those of files of the tests
 * are compared with the files by tests/tool/test_selftest.py.
 */
#include "selftest/check.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

/* Compares floats at any address with their bits, and adds them to the hash. */
static void expect_bits(struct trial *trial, const char *what, const void *floats, const uint32_t *bits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t found;
        memcpy(&found, (const char *)floats + i * sizeof found, sizeof found);
        if (found != bits[i])
            trial_fault(trial, "%s: element %zu is %08x, not %08x", what, i, (unsigned)found, (unsigned)bits[i]);
    }
    trial_bytes(trial, floats, n * sizeof *bits);
}

/* ---- Types of ggml ---------------------------------------------------------------------------------------------- */

static const struct ggml_row {
    const char *name;
    inlay_element_type type;
    size_t dim;
    const char *row;        /* as hexadecimal digits */
    const uint32_t *values; /* [dim], of ggml */
} ggml_rows[] = {
#include "../tests/ggml_golden.inc"
};

static void ggml_run(struct trial *trial, size_t item)
{
    const struct ggml_row *wanted = &ggml_rows[item];
    const int32_t id = 0;
    const size_t row_bytes = strlen(wanted->row) / 2, out_bytes = wanted->dim * sizeof(float);
    unsigned char *row = trial_array(trial, row_bytes), *out = trial_array(trial, out_bytes);
    for (size_t i = 0; i < row_bytes; i++)
        row[i] = (unsigned char)strtoul((char[]){wanted->row[2 * i], wanted->row[2 * i + 1], '\0'}, NULL, 16);
    const inlay_table table = inlay_table_of(wanted->type, row, 1, wanted->dim, row_bytes);
    trial_ok(trial, "inlay_gather", inlay_gather(&table, &id, INLAY_ID_I32, 1, 1, out, out_bytes, NULL, NULL));
    expect_bits(trial, "the row", out, wanted->values, wanted->dim);
}

const struct family ggml_checks = {"golden", ggml_run, ITEMS_OF(ggml_rows)};

/* ---- FP8 -------------------------------------------------------------------------------------------------------- */

/* All E4M3 numbers times all E8M0 scales, by rows of a number. The hashes are those of PyTorch's products, which
   tests/tool/test_selftest.py makes of tests/data/ngram/fp8.txt. */
static const struct fp8_product {
    const char *name;
    inlay_element_type type;
} fp8_products[] = {
    {"FP8 of PyTorch in float32", INLAY_F32},
    {"FP8 of PyTorch in bfloat16", INLAY_BF16},
    {"FP8 of PyTorch in float16", INLAY_F16},
};

static void fp8_run(struct trial *trial, size_t item)
{
    enum { N = 256, SCALES = N / 32 };
    const inlay_element_type type = fp8_products[item].type;
    const size_t bytes = type == INLAY_F32 ? 4 : 2;
    unsigned char *codes = trial_array(trial, N * N), *scales = trial_array(trial, N * SCALES);
    unsigned char *out = trial_array(trial, N * N * bytes), *pairs = trial_array(trial, N * N * bytes);
    int32_t *ids = trial_array(trial, N * sizeof *ids);
    for (size_t i = 0; i < N; i++) {
        for (size_t code = 0; code < N; code++)
            codes[i * N + code] = (unsigned char)code;
        memset(scales + i * SCALES, (int)i, SCALES);
        put_id(ids, INLAY_ID_I32, i, (int64_t)i);
    }
    const inlay_table table = inlay_table_e4m3_e8m0(codes, scales, N, N);
    inlay_layer_spec spec = inlay_layer_spec_default(&table);
    spec.out_type = type;
    const inlay_batch batch = inlay_batch_i32(ids, 1, N, 0);
    if (!trial_forward(trial, &spec, &batch, out, N * bytes))
        return;
    for (size_t code = 0; code < N; code++)
        for (size_t scale = 0; scale < N; scale++)
            memcpy(pairs + (code * N + scale) * bytes, out + (scale * N + code) * bytes, bytes);
    trial_rows(trial, pairs, 1, N * N, N * N * bytes, type);
}

const struct family fp8_checks = {"golden", fp8_run, ITEMS_OF(fp8_products)};

/* ---- Positions, random numbers, n-grams ------------------------------------------------------------------------- */

/* sin p, cos p, sin(p / 100), cos(p / 100), from mpmath at 300 bits. */
static void far_sinusoids(struct trial *trial)
{
    static const struct {
        int64_t position;
        uint32_t bits[4];
    } rows[] = {
        {1, {0x3f576aa4, 0x3f0a5140, 0x3c23d657, 0x3f7ffcb9}},
        {2000000000, {0x3f6a2a77, 0x3ecee77d, 0xbf435a98, 0x3f25728c}},
        {2147483647, {0xbf399422, 0xbf30579a, 0x3f338ba5, 0xbf367b35}},
    };
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(4);
    const inlay_sinusoid *sinusoid = trial_sinusoid(trial, &spec);
    for (size_t i = 0; sinusoid != NULL && i < sizeof rows / sizeof *rows; i++) {
        float out[4] = {0};
        trial_ok(trial, "inlay_sinusoid_rows",
                 inlay_sinusoid_rows(sinusoid, rows[i].position, 1, INLAY_F32, out, sizeof out, trial->executor));
        expect_bits(trial, "a row", out, rows[i].bits, 4);
    }
}

/* The first known answer of Philox4x32-10 in Random123's kat_vectors: counter 0, key 0. */
static const uint32_t philox_words[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};

/* Uniform numbers are (w + 1/2) / 2^32, rounded; truncated to the 24 bits and the bit that they are rounded at here. */
static void philox_numbers(struct trial *trial)
{
    float out[4] = {0};
    uint32_t bits[4];
    const inlay_random_spec spec = inlay_random_spec_default(INLAY_RANDOM_UNIFORM, 0);
    trial_ok(trial, "inlay_table_random", inlay_table_random(&spec, out, 1, 4, sizeof out));
    for (size_t i = 0; i < 4; i++) {
        unsigned shift = 0;
        while ((philox_words[i] << shift) >> 31 == 0)
            shift++;
        const uint32_t word = philox_words[i] << shift;
        bits[i] = ((126 - shift) << 23) + ((word >> 8) & 0x7fffff) + (word >> 7 & 1);
    }
    expect_bits(trial, "random numbers", out, bits, 4);
}

/* Half of the elements are dropped: those whose words are below 2^31; the others are doubled. */
static void philox_dropout(struct trial *trial)
{
    static const float ones[4] = {1, 1, 1, 1};
    const int32_t id = 0;
    float out[4] = {0};
    uint32_t bits[4];
    const inlay_table table = inlay_table_f32(ones, 1, 4);
    const inlay_layer_spec spec = inlay_layer_spec_default(&table);
    inlay_batch batch = inlay_batch_i32(&id, 1, 1, 0);
    batch.dropout = 0.5f;
    trial_forward(trial, &spec, &batch, out, sizeof out);
    for (size_t i = 0; i < 4; i++)
        bits[i] = philox_words[i] >= 0x80000000 ? 0x40000000 : 0;
    expect_bits(trial, "a row", out, bits, 4);
}

/* The call `prefill` of tests/data/ngram/demo-n2.txt, which the demonstration of Engram's authors computed. */
static void engram_rows(struct trial *trial)
{
    static const int64_t multipliers[] = {91738049023710391, 104713328209570553}, offsets[] = {0, 0, 1, 3, 9};
    static const int32_t ids[] = {51, 1, 48, 59, 40, 17, 59, 1, 56};
    static const inlay_ngram_column columns[] = {{2, 0, 1009, 0, 0}, {2, 0, 1013, 0, 1009}, {2, 0, 1019, 0, 2022}};
    static const int32_t wanted[9][3] = {
        {859, 1245, 2098}, {713, 1169, 2768}, {244, 1311, 2719}, {0, 1044, 2221},   {489, 1772, 2484},
        {298, 1342, 2618}, {565, 1299, 2863}, {130, 1365, 2129}, {265, 1168, 2455},
    };
    inlay_ngram_spec spec = inlay_ngram_spec_default(60, 2, INLAY_NGRAM_MIX_XOR);
    spec.pad = 1;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = 3;
    inlay_ngram *ngram = NULL;
    int32_t out[9][3] = {{0}};
    inlay_status status = inlay_ngram_create(&spec, NULL, &ngram);
    const inlay_ngram_batch batch = inlay_ngram_batch_ragged(ids, INLAY_ID_I32, offsets, 4);
    if (status == INLAY_OK)
        status = inlay_ngram_ids(ngram, &batch, 0, 3, INLAY_ID_I32, out, sizeof *out, trial->executor, NULL);
    inlay_ngram_destroy(ngram);
    trial_ok(trial, "inlay_ngram_ids", status);
    for (size_t i = 0; i < 27; i++)
        if (out[i / 3][i % 3] != wanted[i / 3][i % 3])
            trial_fault(trial, "token %zu, column %zu: row %d, not %d", i / 3, i % 3, (int)out[i / 3][i % 3],
                        (int)wanted[i / 3][i % 3]);
    trial_bytes(trial, out, sizeof out);
}

/* ---- The README's program --------------------------------------------------------------------------------------- */

static void readme_program(struct trial *trial)
{
    static const float rows[4][4] = {
        {.1f, .2f, .3f, .4f}, {.5f, .6f, .7f, .8f}, {.9f, 1, 1.1f, 1.2f}, {1.3f, 1.4f, 1.5f, 1.6f}};
    static const char *const wanted[] = {"2: 1.8000 3.0000 2.2000 3.4000", "3: 3.4415 3.3403 3.0100 4.2000"};
    const int32_t ids[2] = {2, 3};
    float out[2][4] = {{0}};
    const inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(4);
    const inlay_table tokens = inlay_table_f32(rows, 4, 4);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.scale = inlay_sqrt_dim(4);
    spec.sinusoid = trial_sinusoid(trial, &formula);
    const inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0);
    trial_forward(trial, &spec, &batch, out, sizeof *out);
    trial_bytes(trial, out, sizeof out);
    const int rounding = fegetround(); /* which printf follows */
    fesetround(FE_TONEAREST);
    for (size_t i = 0; i < 2; i++) {
        char line[80];
        snprintf(line, sizeof line, "%d: %.4f %.4f %.4f %.4f", (int)ids[i], (double)out[i][0], (double)out[i][1],
                 (double)out[i][2], (double)out[i][3]);
        if (strcmp(line, wanted[i]) != 0)
            trial_fault(trial, "the line is \"%s\", not \"%s\"", line, wanted[i]);
    }
    fesetround(rounding);
}

static const struct golden_check {
    const char *name;
    void (*run)(struct trial *trial);
} checks[] = {
    {"the README's program", readme_program},           {"sinusoids up to 2147483647 of mpmath", far_sinusoids},
    {"numbers of Philox of Random123", philox_numbers}, {"dropout by Philox of Random123", philox_dropout},
    {"rows of n-grams of Engram", engram_rows},
};

static void golden_run(struct trial *trial, size_t item)
{
    checks[item].run(trial);
}

const struct family golden_checks = {"golden", golden_run, ITEMS_OF(checks)};
