/* SPDX-License-Identifier: MIT */
/*
 * Tables of files: tensors that are tables, their scales, and tables over several tensors. Gathered rows are compared
 * with the values of the bytes.
 */
#include "file/model_files.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Single tensors --------------------------------------------------------------------------------------------- */

START_TEST(tensors_that_are_no_tables)
{
    struct safetensors model = {{0}, {0}};
    safetensors_add_rows(&model, "scalar", "F32", 0, 0, "\0\0\0");
    safetensors_add_rows(&model, "list", "F32", 2, 0, "\0\0\0\0\0\0\0");
    safetensors_add(&model, &(struct model_tensor){"narrow", "F32", 2, {5, 0}, "", 0});
    safetensors_add_rows(&model, "bytes", "U8", 2, 2, "\0\0\0");
    inlay_file *file = safetensors_open(&model);
    expect_no_table(file, "scalar", INLAY_FILE_ERROR_SHAPE, "scalar: a table needs 2 dimensions");
    expect_no_table(file, "list", INLAY_FILE_ERROR_SHAPE, "2 dimensions");
    expect_no_table(file, "narrow", INLAY_FILE_ERROR_SHAPE, "second dimension");
    expect_no_table(file, "bytes", INLAY_FILE_ERROR_TYPE, "U8");
    expect_no_table(file, "other", INLAY_FILE_ERROR_MISSING, "other: there is no such tensor");
    expect_no_table(file, "", INLAY_FILE_ERROR_MISSING, "no such tensor");
    inlay_file_table table;
    EXPECT(inlay_file_get_table(NULL, "list", &table, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no file");
    EXPECT(inlay_file_get_table(file, NULL, &table, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no name");
    EXPECT(inlay_file_get_table(file, "list", NULL, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no table");
    inlay_file_close(file);
}
END_TEST

START_TEST(plain_tables)
{
    static const float floats[] = {1.5F, -2, 3, 4, 5, 6};
    static const uint16_t halves[] = {0x3c00, 0x4000}, upper[] = {0x3f80, 0x4000};
    struct safetensors model = {{0}, {0}};
    safetensors_add_rows(&model, "f32.weight", "F32", 2, 3, floats);
    safetensors_add_rows(&model, "f32.input_scale", "F32", 0, 0, floats); /* of the module's input */
    safetensors_add_rows(&model, "f32_other.scale", "F32", 0, 0, floats);
    safetensors_add_rows(&model, "scale", "F32", 0, 0, floats);
    safetensors_add_rows(&model, "f16", "F16", 1, 2, halves);
    safetensors_add_rows(&model, "bf16", "BF16", 2, 1, upper);
    safetensors_add_bytes(&model, "i8.weight", "I8", 2, 2, 254);
    safetensors_add_bytes(&model, "e4m3.weight", "F8_E4M3", 2, 2, 0x38);
    safetensors_add_rows(&model, "i8.scale", "F32", 0, 0, &(float){1});
    safetensors_add_rows(&model, "e4m3.scale", "F32", 0, 0, &(float){1});
    inlay_file *file = safetensors_open(&model);
    inlay_file_table table = table_of(file, "f32.weight");
    EXPECT(table.view.rows == 2 && table.view.dim == 3 && table.view.type == INLAY_F32 && table.scale == 1, "f32");
    expect_element(&table, 0, 0, 1.5F);
    expect_element(&table, 1, 2, 6);
    table = table_of(file, "f16");
    expect_element(&table, 0, 1, 2);
    table = table_of(file, "bf16");
    expect_element(&table, 1, 0, 2);
    table = table_of(file, "i8.weight");
    expect_element(&table, 0, 0, -2);
    table = table_of(file, "e4m3.weight");
    EXPECT(table.view.type == INLAY_E4M3 && table.view.scales == NULL && table.scale == 1, "e4m3");
    expect_element(&table, 0, 0, 1);
    inlay_file_close(file);
}
END_TEST

/* float64 is rounded to nearest even once per file. */
START_TEST(tables_of_float64)
{
    static const double doubles[] = {1.5, 1 + 0x1p-24, 1 + 3 * 0x1p-24, -1e300, 0x1p-149 * 0.75, -0.0};
    static const float rounded[] = {1.5F, 1, 1 + 0x1p-22F, -INFINITY, 0x1p-149F, -0.0F};
    struct safetensors model = {{0}, {0}};
    safetensors_add_rows(&model, "f32", "F32", 2, 3, rounded);
    safetensors_add_rows(&model, "f64.weight", "F64", 2, 3, doubles);
    safetensors_add_rows(&model, "many.0", "F64", 1, 3, doubles);
    safetensors_add_rows(&model, "many.1", "F64", 1, 3, doubles + 3);
    inlay_file *file = safetensors_open(&model);
    const inlay_file_table table = table_of(file, "f64.weight"), again = table_of(file, "f64.weight");
    const inlay_file_table joined = table_of(file, "many.*");
    EXPECT(table.view.type == INLAY_F32 && table.view.rows == 2 && table.view.dim == 3 && table.scale == 1, "a table");
    EXPECT(table.view.data == again.view.data, "the rows are converted twice");
    for (size_t i = 0; i < 6; i++) {
        expect_element(&table, i / 3, i % 3, rounded[i]);
        expect_element(&joined, i / 3, i % 3, rounded[i]);
    }
    inlay_file_close(file);
}
END_TEST

/* ---- Scales ----------------------------------------------------------------------------------------------------- */

/* A table [2, 32] of ones in FP8, or of bytes 0x38 in int8, and its scales under that name. */
static inlay_file *with_scales(const char *type, const char *scale_name, const char *scale_type, size_t rows,
                               size_t columns, const void *scales)
{
    unsigned char ones[64];
    memset(ones, 0x38, sizeof ones);
    struct safetensors model = {{0}, {0}};
    safetensors_add_rows(&model, "t.weight", type, 2, 32, ones);
    safetensors_add_rows(&model, scale_name, scale_type, rows, columns, scales);
    return safetensors_open(&model);
}

START_TEST(scales_have_several_names_and_shapes)
{
    static const float pair[] = {0.5F, 3};
    static const uint16_t upper[] = {0x3f00, 0x4040}, halves[] = {0x3800, 0x4200};
    static const unsigned char exponents[] = {126, 128};
    static const struct {
        const char *name, *type;
        size_t rows, columns;
        const void *scales;
        float first, second; /* of the rows */
    } good[] = {
        {"t.scale", "F32", 2, 0, pair, 0.5F, 3},
        {"t.weight_scale", "F32", 2, 1, pair, 0.5F, 3},
        {"t.weight_scale_inv", "F32", 2, 1, pair, 0.5F, 3},
        {"t.weight_scale", "BF16", 2, 1, upper, 0.5F, 3},
        {"t.weight_scale", "F16", 2, 0, halves, 0.5F, 3},
        {"t.weight_scale", "F32", 0, 0, pair, 0.5F, 0.5F},
        {"t.scale", "BF16", 1, 0, upper, 0.5F, 0.5F},
        {"t.scale", "F16", 1, 1, halves, 0.5F, 0.5F},
        {"t.scale", "F8_E8M0", 2, 1, exponents, 0.5F, 2},
        {"t.weight_scale", "U8", 2, 1, exponents, 0.5F, 2},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const bool exponent = good[i].scales == exponents;
        for (int is_int8 = 0; is_int8 < (exponent ? 1 : 2); is_int8++) {
            inlay_file *file = with_scales(is_int8 ? "I8" : "F8_E4M3", good[i].name, good[i].type, good[i].rows,
                                           good[i].columns, good[i].scales);
            inlay_file_table table = table_of(file, "t.weight");
            EXPECT(table.view.type == (is_int8    ? INLAY_I8
                                       : exponent ? INLAY_E4M3_E8M0
                                                  : INLAY_E4M3),
                   "%s: type %d", good[i].name, table.view.type);
            expect_element(&table, 0, 31, (is_int8 ? 56.0F : 1.0F) * good[i].first);
            expect_element(&table, 1, 0, (is_int8 ? 56.0F : 1.0F) * good[i].second);
            inlay_file_close(file);
        }
    }
}
END_TEST

START_TEST(other_scales_are_refused)
{
    static const unsigned char bytes[64];
    static const struct {
        const char *table, *type;
        size_t rows, columns;
    } bad[] = {
        {"F8_E4M3", "F32", 3, 0}, {"F8_E4M3", "F32", 1, 2},     {"F8_E4M3", "F32", 2, 2},
        {"F8_E4M3", "F64", 2, 1}, {"F8_E4M3", "F8_E8M0", 1, 2}, {"F8_E4M3", "F8_E8M0", 2, 2},
        {"I8", "F8_E8M0", 2, 1},  {"I8", "I8", 2, 1},           {"F8_E4M3", "F8_E4M3", 2, 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        inlay_file *file = with_scales(bad[i].table, "t.scale", bad[i].type, bad[i].rows, bad[i].columns, bytes);
        expect_no_table(file, "t.weight", INLAY_FILE_ERROR_SHAPE,
                        "t.scale: its shape and type do not match scales of the rows");
        inlay_file_close(file);
    }
}
END_TEST

/* Without ".weight"; a second scale is an error. */
START_TEST(scales_of_plain_names)
{
    for (int both = 0; both <= 1; both++) {
        struct safetensors model = {{0}, {0}};
        safetensors_add_bytes(&model, "table", "I8", 1, 2, 1);
        safetensors_add_rows(&model, "table.scale", "F32", 1, 1, &(float){4});
        if (both)
            safetensors_add_rows(&model, "table.weight_scale", "F32", 1, 1, &(float){8});
        inlay_file *file = safetensors_open(&model);
        if (both)
            expect_no_table(file, "table", INLAY_FILE_ERROR_TYPE,
                            "table.weight_scale: it may change the rows of table");
        else {
            inlay_file_table table = table_of(file, "table");
            expect_element(&table, 0, 1, 8);
        }
        inlay_file_close(file);
    }
}
END_TEST

/* Rows of 8 bits need a scale; other packages' scales are never ignored. */
START_TEST(tables_whose_scales_are_not_known)
{
    static const struct {
        const char *rows, *type, *other; /* the names of the rows and of another tensor */
        inlay_file_status status;
        const char *message;
    } tables[] = {
        {"a.t.weight", "I8", "a.t.SCB", INLAY_FILE_ERROR_TYPE,
         "a.t.weight: no scale with a known name was found for its type, I8; next to it: SCB"},
        {"a.t.weight", "I8", "a.t.weight_scales", INLAY_FILE_ERROR_TYPE, "next to it: weight_scales"},
        {"a.t.weight", "F8_E4M3", "a.t.weight.scale", INLAY_FILE_ERROR_TYPE, "next to it: weight.scale"},
        {"a.t.weight", "F8_E4M3", "a.u.weight_scale", INLAY_FILE_ERROR_TYPE, "next to it: nothing"},
        {"a.t.weight", "F8_E4M3", "a.t.input_scale", INLAY_FILE_ERROR_TYPE, "next to it: input_scale"},
        {"a.t.weight_qdata", "I8", "a.t.weight_scale", INLAY_FILE_ERROR_TYPE, "next to it: weight_scale"},
        {"table", "I8", "table_scale", INLAY_FILE_ERROR_TYPE, "next to it: table_scale"},
        {"table", "I8", "mapping", INLAY_FILE_ERROR_TYPE, "next to it: mapping"},
        {"embeddings", "F8_E4M3", "mapping", INLAY_FILE_ERROR_TYPE, "next to it: mapping"},
        {"a.embeddings", "I8", "mapping", INLAY_FILE_ERROR_TYPE, "next to it: nothing"},
        {"embeddings", "I8", "mapping", INLAY_FILE_OK, NULL},
        {"embeddings", "I8", "scales", INLAY_FILE_ERROR_TYPE, "scales: it may change the rows of embeddings"},
        {"a.t.weight", "U8", "a.t.weight.absmax", INLAY_FILE_ERROR_TYPE,
         "tables do not support its type, U8; next to it: weight.absmax"},
        {"a.t.W_q", "U8", "a.t.zero", INLAY_FILE_ERROR_TYPE, "next to it: zero"},
        {"a.t.weight", "F32", "a.t.weight_scale", INLAY_FILE_ERROR_TYPE,
         "a.t.weight_scale: it may change the rows of a.t.weight in an unknown way"},
        {"a.t.weight", "F32", "a.t.SCB", INLAY_FILE_ERROR_TYPE, "a.t.SCB: it may"},
        {"a.t.weight", "F32", "a.t.weight.absmax", INLAY_FILE_ERROR_TYPE, "a.t.weight.absmax: it may"},
        {"a.t.weight", "F32", "a.t.biases", INLAY_FILE_ERROR_TYPE, "a.t.biases: it may"},
        {"a.t.weight", "F32", "a.t.weight_zero_point", INLAY_FILE_ERROR_TYPE, "a.t.weight_zero_point: it may"},
        {"a.t.weight", "F32", "a.t.weight_quantizer._amax", INLAY_FILE_ERROR_TYPE,
         "a.t.weight_quantizer._amax: it may"},
        {"a.t", "F32", "a.t_scale", INLAY_FILE_ERROR_TYPE, "a.t_scale: it may"},
        {"a.t", "F32", "a.t.scale", INLAY_FILE_ERROR_TYPE, "a.t.scale: it may"},
        {"a.t.weight", "F32", "a.t.input_quantizer._amax", INLAY_FILE_OK, NULL},
        {"a.t.weight", "F32", "a.t_scale", INLAY_FILE_OK, NULL},
        {"a.t", "F32", "a.t_other.scale", INLAY_FILE_OK, NULL},
        {"a.t", "F32", "a.logit_scale", INLAY_FILE_OK, NULL},
        {"a.t.weight", "F32", "a.scale", INLAY_FILE_OK, NULL},
        {"scale.quant", "F32", "scale.t", INLAY_FILE_OK, NULL},
    };
    static const unsigned char bytes[16];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct safetensors model = {{0}, {0}};
        safetensors_add_rows(&model, tables[i].rows, tables[i].type, 2, 2, bytes);
        safetensors_add_rows(&model, tables[i].other, "F32", 2, 0, bytes);
        inlay_file *file = safetensors_open(&model);
        if (tables[i].status == INLAY_FILE_OK)
            EXPECT(table_of(file, tables[i].rows).scale == 1, "%s", tables[i].rows);
        else
            expect_no_table(file, tables[i].rows, tables[i].status, tables[i].message);
        inlay_file_close(file);
    }
    /* A second scale also changes the rows; a long list ends in dots. */
    static const float used = 0.5F;
    struct safetensors model = {{0}, {0}};
    safetensors_add_rows(&model, "a.t.weight", "I8", 2, 2, bytes);
    safetensors_add_rows(&model, "a.t.scale", "F32", 2, 0, bytes);
    safetensors_add_rows(&model, "a.t.weight_scale_2", "F32", 0, 0, bytes);
    safetensors_add_rows(&model, "c.t.weight", "F32", 2, 2, bytes);
    safetensors_add_rows(&model, "c.t.weight_scaling_factor", "F32", 1, 0, bytes); /* I-BERT's, unused */
    safetensors_add_rows(&model, "d.t.weight", "F32", 2, 2, bytes);
    safetensors_add_rows(&model, "d.t.weight_scaling_factor", "F32", 1, 0, &used);
    safetensors_add_rows(&model, "b.t.weight", "I8", 2, 2, bytes);
    for (int i = 10; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "b.t.n%d", i);
        safetensors_add_rows(&model, name, "F32", 0, 0, bytes);
    }
    inlay_file *file = safetensors_open(&model);
    expect_no_table(file, "a.t.weight", INLAY_FILE_ERROR_TYPE, "a.t.weight_scale_2: it may");
    expect_no_table(file, "d.t.weight", INLAY_FILE_ERROR_TYPE, "d.t.weight_scaling_factor: it may");
    EXPECT(table_of(file, "c.t.weight").scale == 1, "a scale that was never set changes the rows");
    expect_no_table(file, "b.t.weight", INLAY_FILE_ERROR_TYPE, "next to it: n10, n11, n12");
    expect_no_table(file, "b.t.weight", INLAY_FILE_ERROR_TYPE, "...");
    inlay_file_close(file);
}
END_TEST

/* ---- Several tensors -------------------------------------------------------------------------------------------- */

/* Adds "p.shard_N.weight" [rows, 32] of FP8 whose bytes are all 0x38 + N. */
static void add_shard(struct safetensors *model, size_t number, const char *type, size_t rows, size_t columns)
{
    char name[64];
    unsigned char *bytes = malloc(rows * columns * 2 + 1);
    memset(bytes, 0x38 + (int)number % 8, rows * columns * 2);
    snprintf(name, sizeof name, "p.shard_%zu.weight", number);
    safetensors_add_rows(model, name, type, rows, columns, bytes);
    free(bytes);
}

/* Adds "p.scale": 1 for all shards. */
static void add_shared_scale(struct safetensors *model)
{
    safetensors_add_rows(model, "p.scale", "F32", 0, 0, &(float){1});
}

/* The value of byte 0x38 + n as FP8. */
static float eighths(size_t n)
{
    return 1 + 0.125F * (float)(n % 8);
}

START_TEST(patterns_join_tensors)
{
    static const size_t rows[][13] = {{3, 3, 3, 2}, {3, 3, 4}, {2, 3, 2}, {5}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    static const size_t regular[] = {3, 0, 0, 0, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct safetensors model = {{0}, {0}};
        size_t count = 0, total = 0;
        for (; rows[i][count] > 0; count++)
            total += rows[i][count];
        /* In reverse order. */
        for (size_t k = count; k-- > 0;)
            add_shard(&model, k, "F8_E4M3", rows[i][k], 32);
        add_shared_scale(&model);
        inlay_file *file = safetensors_open(&model);
        inlay_file_table table = table_of(file, "p.shard_*.weight");
        EXPECT(table.view.rows == total && table.view.extent_count == (count > 1 ? count : 0) &&
                   table.view.extent_rows == regular[i],
               "%zu rows in %zu extents of %zu", table.view.rows, table.view.extent_count, table.view.extent_rows);
        for (size_t k = 0, first = 0; k < count; first += rows[i][k++]) {
            expect_element(&table, first, 0, eighths(k));
            expect_element(&table, first + rows[i][k] - 1, 31, eighths(k));
        }
        expect_no_table(file, "p.shard_*", INLAY_FILE_ERROR_MISSING, "no tensor with number 0");
        expect_no_table(file, "*", INLAY_FILE_ERROR_MISSING, "no tensor with number 0");
        expect_no_table(file, "p.*_*.weight", INLAY_FILE_ERROR_ARGUMENT, "exactly one *");
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(numbers_begin_at_0_without_a_gap)
{
    struct safetensors model = {{0}, {0}};
    add_shard(&model, 0, "F8_E4M3", 1, 32);
    add_shard(&model, 2, "F8_E4M3", 1, 32);
    add_shared_scale(&model);
    inlay_file *file = safetensors_open(&model);
    EXPECT(table_of(file, "p.shard_*.weight").view.rows == 1, "tensor 1 is not there");
    inlay_file_close(file);
    model = (struct safetensors){{0}, {0}};
    add_shard(&model, 1, "F8_E4M3", 1, 32);
    file = safetensors_open(&model);
    expect_no_table(file, "p.shard_*.weight", INLAY_FILE_ERROR_MISSING, "no tensor with number 0");
    inlay_file_close(file);
}
END_TEST

START_TEST(tensors_that_do_not_join)
{
    static const struct {
        const char *type;
        size_t rows, columns;
        const char *message;
    } second[] = {
        {"F8_E4M3", 1, 64, "its type or dim"},
        {"I8", 1, 32, "its type or dim"},
        {"F8_E4M3", 0, 32, "no rows"},
        {"U8", 1, 32, "tables do not support its type"},
    };
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) {
        struct safetensors model = {{0}, {0}};
        add_shard(&model, 0, "F8_E4M3", 2, 32);
        add_shard(&model, 1, second[i].type, second[i].rows, second[i].columns);
        add_shared_scale(&model);
        inlay_file *file = safetensors_open(&model);
        expect_no_table(file, "p.shard_*.weight", i == 3 ? INLAY_FILE_ERROR_TYPE : INLAY_FILE_ERROR_SHAPE,
                        second[i].message);
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(scales_of_several_tensors)
{
    static const float pair[] = {2, 4}, same[] = {2, 2, 2, 2}, four = 4;
    static const unsigned char exponents[] = {0x7f, 0x80};
    const struct {
        const char *type; /* of two shards of 2 rows */
        struct {
            const char *type; /* null: none */
            size_t rows;
            const void *values;
        } scales[2];        /* of each shard */
        const char *shared; /* a scale named after the part before the star; null: none */
        size_t shared_rows;
        float factor; /* of the last row */
        inlay_file_status status;
        const char *message; /* if the shards don't join */
    } cases[] = {
        {"F8_E4M3", {{"F32", 2, pair}, {"F32", 2, pair}}, .factor = 4},
        {"F8_E4M3", {{"F8_E8M0", 2, exponents}, {"F8_E8M0", 2, exponents}}, .factor = 2},
        {"F8_E4M3", {{"F32", 0, pair}, {"F32", 0, pair}}, .factor = 2},
        {"F8_E4M3", .shared = "p.weight_scale", .factor = 2},
        {"F8_E4M3",
         {{"F32", 0, pair}, {"F32", 0, &four}},
         .status = INLAY_FILE_ERROR_SHAPE,
         .message = "its scales do not match those"},
        {"F8_E4M3",
         {{"F32", 0, pair}, {"F32", 2, pair}},
         .status = INLAY_FILE_ERROR_SHAPE,
         .message = "its scales do not match those"},
        {"F8_E4M3",
         {{NULL, 0, NULL}, {"F32", 2, pair}},
         .status = INLAY_FILE_ERROR_TYPE,
         .message = "p.shard_0.weight: no scale with a known name"},
        {"F8_E4M3",
         {{"F32", 2, pair}},
         "p.scale",
         .status = INLAY_FILE_ERROR_TYPE,
         .message = "p.scale: it may change the rows of p.shard_0.weight"},
        {"BF16", .shared = "p.scale", .status = INLAY_FILE_ERROR_TYPE,
         .message = "p.scale: it may change the rows of p.shard_0.weight"},
        {"F8_E4M3", .shared = "p.weight_scale", .shared_rows = 4, .status = INLAY_FILE_ERROR_SHAPE,
         .message = "p.weight_scale: it must be a single number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct safetensors model = {{0}, {0}};
        for (size_t k = 0; k < 2; k++) {
            add_shard(&model, k, cases[i].type, 2, 32);
            char name[64];
            snprintf(name, sizeof name, "p.shard_%zu.weight_scale", k);
            const size_t rows = cases[i].scales[k].rows;
            if (cases[i].scales[k].type != NULL)
                safetensors_add_rows(&model, name, cases[i].scales[k].type, rows, rows > 0, cases[i].scales[k].values);
        }
        if (cases[i].shared != NULL)
            safetensors_add_rows(&model, cases[i].shared, "F32", cases[i].shared_rows, 0, same);
        inlay_file *file = safetensors_open(&model);
        if (cases[i].message != NULL)
            expect_no_table(file, "p.shard_*.weight", cases[i].status, cases[i].message);
        else {
            const inlay_file_table table = table_of(file, "p.shard_*.weight");
            EXPECT((table.view.type == INLAY_E4M3_E8M0) == (cases[i].scales[0].values == exponents), "case %zu", i);
            expect_element(&table, 3, 0, cases[i].factor * eighths(1));
        }
        inlay_file_close(file);
    }
}
END_TEST

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

static void *make_tables(void *context)
{
    inlay_file *file = context;
    inlay_file_table table;
    float row[32];
    int64_t id = 3;
    for (int i = 0; i < 1000; i++)
        if (inlay_file_get_table(file, "p.shard_*.weight", &table, NULL) != INLAY_FILE_OK ||
            inlay_gather(&table.view, &id, INLAY_ID_I64, 1, 1, row, sizeof row, NULL, NULL) != INLAY_OK ||
            row[0] != eighths(1))
            return NULL;
    return context;
}

START_TEST(threads_share_a_file)
{
    pthread_t threads[4];
    struct safetensors model = {{0}, {0}};
    add_shard(&model, 0, "F8_E4M3", 2, 32);
    add_shard(&model, 1, "F8_E4M3", 2, 32);
    add_shared_scale(&model);
    inlay_file *file = safetensors_open(&model);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_tables, file), 0);
    for (size_t i = 0; i < 4; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        EXPECT(result == file, "thread %zu", i);
    }
    inlay_file_close(file);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "tables of files", make_folder, remove_folder, tensors_that_are_no_tables,
                     plain_tables, tables_of_float64, scales_have_several_names_and_shapes, other_scales_are_refused,
                     scales_of_plain_names, tables_whose_scales_are_not_known, patterns_join_tensors,
                     numbers_begin_at_0_without_a_gap, tensors_that_do_not_join, scales_of_several_tensors,
                     threads_share_a_file);
}
