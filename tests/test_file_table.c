/* SPDX-License-Identifier: MIT */
/*
 * Tables of files: which tensors are one, with which scales beside them, and tables over several tensors. What a view
 * reads is compared with what the bytes mean.
 */
#include "files.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A safetensors file that is being made: entries of its header, and its data. */
struct model {
    char header[1 << 14];
    size_t used;
    struct blob data;
};

static struct model *model_make(void)
{
    struct model *model = calloc(1, sizeof *model);
    ck_assert_ptr_nonnull(model);
    return model;
}

/* Adds a tensor [rows, columns], or [rows] if columns is 0, or of one number if both are. */
static void model_add(struct model *model, const char *name, const char *type, size_t rows, size_t columns,
                      const void *bytes, size_t size)
{
    char shape[64] = "";
    if (columns > 0)
        snprintf(shape, sizeof shape, "%zu,%zu", rows, columns);
    else if (rows > 0)
        snprintf(shape, sizeof shape, "%zu", rows);
    model->used +=
        (size_t)snprintf(model->header + model->used, sizeof model->header - model->used,
                         "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                         model->used > 0 ? ',' : '{', name, type, shape, model->data.size, model->data.size + size);
    blob_add(&model->data, bytes, size);
}

/* Adds rows of 8-bit elements that count up from `first`. */
static void model_add_bytes(struct model *model, const char *name, const char *type, size_t rows, size_t columns,
                            unsigned first)
{
    struct blob blob = {NULL, 0, 0};
    for (size_t i = 0; i < rows * columns; i++)
        blob_number(&blob, first + i, 1);
    model_add(model, name, type, rows, columns, blob.bytes, blob.size);
    blob_free(&blob);
}

static inlay_file *model_open(struct model *model)
{
    strcat(model->header, "}");
    struct blob blob = blob_safetensors(model->header, 0);
    blob_add(&blob, model->data.bytes, model->data.size);
    blob_free(&model->data);
    free(model);
    return open_good(write_blob("m.safetensors", blob));
}

static inlay_file_table table_of(inlay_file *file, const char *name)
{
    inlay_file_table table;
    inlay_file_error error;
    inlay_file_status status = inlay_file_table_of(file, name, &table, &error);
    EXPECT(status == INLAY_FILE_OK, "%s: %s", name, error.message);
    EXPECT(table.reserved == 0 && table.view.size == sizeof table.view, "fields of %s", name);
    return table;
}

/* Demands an element of a table. */
static void expect_element(const inlay_file_table *table, size_t row, size_t column, float expected)
{
    float out[256];
    read_row(table, row, out);
    EXPECT(memcmp(&out[column], &expected, sizeof expected) == 0, "row %zu, column %zu: %g, not %g", row, column,
           (double)out[column], (double)expected);
}

/* ---- Single tensors --------------------------------------------------------------------------------------------- */

START_TEST(tensors_that_are_no_tables)
{
    struct model *model = model_make();
    model_add(model, "scalar", "F32", 0, 0, "\0\0\0", 4);
    model_add(model, "list", "F32", 2, 0, "\0\0\0\0\0\0\0", 8);
    model_add(model, "narrow", "F32", 5, 0, "", 0); /* made [5, 0] below */
    model_add(model, "bytes", "U8", 2, 2, "\0\0\0", 4);
    char *shape = strstr(model->header, "\"shape\":[5]");
    memmove(shape + 12, shape + 10, strlen(shape + 10) + 1);
    memcpy(shape, "\"shape\":[5,0]", 13);
    model->used += 2;
    inlay_file *file = model_open(model);
    expect_no_table(file, "scalar", INLAY_FILE_ERROR_SHAPE, "scalar: it has not 2 dimensions");
    expect_no_table(file, "list", INLAY_FILE_ERROR_SHAPE, "2 dimensions");
    expect_no_table(file, "narrow", INLAY_FILE_ERROR_SHAPE, "second dimension");
    expect_no_table(file, "bytes", INLAY_FILE_ERROR_TYPE, "U8");
    expect_no_table(file, "other", INLAY_FILE_ERROR_MISSING, "other: there is no such tensor");
    expect_no_table(file, "", INLAY_FILE_ERROR_MISSING, "no such tensor");
    inlay_file_table table;
    EXPECT(inlay_file_table_of(NULL, "list", &table, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no file");
    EXPECT(inlay_file_table_of(file, NULL, &table, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no name");
    EXPECT(inlay_file_table_of(file, "list", NULL, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no table");
    inlay_file_close(file);
}
END_TEST

START_TEST(plain_tables)
{
    static const float floats[] = {1.5F, -2, 3, 4, 5, 6};
    static const uint16_t halves[] = {0x3c00, 0x4000}, upper[] = {0x3f80, 0x4000};
    struct model *model = model_make();
    model_add(model, "f32.weight", "F32", 2, 3, floats, sizeof floats);
    model_add(model, "f32.weight_scale", "F32", 0, 0, floats, 4); /* of no quantised tensor */
    model_add(model, "f16", "F16", 1, 2, halves, sizeof halves);
    model_add(model, "bf16", "BF16", 2, 1, upper, sizeof upper);
    model_add_bytes(model, "i8", "I8", 2, 2, 254);
    model_add_bytes(model, "e4m3", "F8_E4M3", 2, 2, 0x38);
    inlay_file *file = model_open(model);
    inlay_file_table table = table_of(file, "f32.weight");
    EXPECT(table.view.rows == 2 && table.view.dim == 3 && table.view.type == INLAY_F32 && table.scale == 1, "f32");
    expect_element(&table, 0, 0, 1.5F);
    expect_element(&table, 1, 2, 6);
    table = table_of(file, "f16");
    expect_element(&table, 0, 1, 2);
    table = table_of(file, "bf16");
    expect_element(&table, 1, 0, 2);
    table = table_of(file, "i8");
    expect_element(&table, 0, 0, -2);
    table = table_of(file, "e4m3");
    EXPECT(table.view.type == INLAY_E4M3 && table.view.scales == NULL && table.scale == 1, "e4m3");
    expect_element(&table, 0, 0, 1);
    inlay_file_close(file);
}
END_TEST

/* ---- Scales ----------------------------------------------------------------------------------------------------- */

/* A table [2, 32] of ones in FP8, or of bytes 0x38 in int8, with scales beside it under that name. */
static inlay_file *with_scales(const char *type, const char *scale_name, const char *scale_type, size_t rows,
                               size_t columns, const void *scales, size_t bytes)
{
    unsigned char ones[64];
    memset(ones, 0x38, sizeof ones);
    struct model *model = model_make();
    model_add(model, "t.weight", type, 2, 32, ones, sizeof ones);
    model_add(model, scale_name, scale_type, rows, columns, scales, bytes);
    return model_open(model);
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
        size_t bytes;
        float first, second; /* of the rows */
    } good[] = {
        {"t.scale", "F32", 2, 0, pair, 8, 0.5F, 3},
        {"t.weight_scale", "F32", 2, 1, pair, 8, 0.5F, 3},
        {"t.weight_scale_inv", "F32", 2, 1, pair, 8, 0.5F, 3},
        {"t.weight_scale", "BF16", 2, 1, upper, 4, 0.5F, 3},
        {"t.weight_scale", "F16", 2, 0, halves, 4, 0.5F, 3},
        {"t.weight_scale", "F32", 0, 0, pair, 4, 0.5F, 0.5F},
        {"t.scale", "BF16", 1, 0, upper, 2, 0.5F, 0.5F},
        {"t.scale", "F16", 1, 1, halves, 2, 0.5F, 0.5F},
        {"t.scale", "F8_E8M0", 2, 1, exponents, 2, 0.5F, 2},
        {"t.weight_scale", "U8", 2, 1, exponents, 2, 0.5F, 2},
        {"u.weight_scale", "F32", 2, 1, pair, 8, 1, 1},
        {"t.weight.scale", "F32", 2, 1, pair, 8, 1, 1},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        inlay_file *file = with_scales("F8_E4M3", good[i].name, good[i].type, good[i].rows, good[i].columns,
                                       good[i].scales, good[i].bytes);
        inlay_file_table table = table_of(file, "t.weight");
        bool exponent = good[i].bytes == 2 && good[i].rows == 2;
        EXPECT(table.view.type == (exponent ? INLAY_E4M3_E8M0 : INLAY_E4M3), "%s: type %d", good[i].name,
               table.view.type);
        expect_element(&table, 0, 31, good[i].first);
        expect_element(&table, 1, 0, good[i].second);
        inlay_file_close(file);
        if (exponent)
            continue;
        file =
            with_scales("I8", good[i].name, good[i].type, good[i].rows, good[i].columns, good[i].scales, good[i].bytes);
        table = table_of(file, "t.weight");
        expect_element(&table, 1, 0, 56 * good[i].second);
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(other_scales_are_refused)
{
    static const unsigned char bytes[64];
    static const struct {
        const char *table, *type;
        size_t rows, columns, bytes;
    } bad[] = {
        {"F8_E4M3", "F32", 3, 0, 12}, {"F8_E4M3", "F32", 1, 2, 8},     {"F8_E4M3", "F32", 2, 2, 16},
        {"F8_E4M3", "F64", 2, 1, 16}, {"F8_E4M3", "F8_E8M0", 1, 2, 2}, {"F8_E4M3", "F8_E8M0", 2, 2, 4},
        {"I8", "F8_E8M0", 2, 1, 2},   {"I8", "I8", 2, 1, 2},           {"F8_E4M3", "F8_E4M3", 2, 1, 2},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        inlay_file *file =
            with_scales(bad[i].table, "t.scale", bad[i].type, bad[i].rows, bad[i].columns, bytes, bad[i].bytes);
        expect_no_table(file, "t.weight", INLAY_FILE_ERROR_SHAPE,
                        "t.scale: its shape and type are not those of scales");
        inlay_file_close(file);
    }
}
END_TEST

/* Without ".weight", and the first of several names. */
START_TEST(scales_of_plain_names)
{
    struct model *model = model_make();
    model_add_bytes(model, "table", "I8", 1, 2, 1);
    model_add(model, "table.scale", "F32", 1, 1, &(float){4}, 4);
    model_add(model, "table.weight_scale", "F32", 1, 1, &(float){8}, 4);
    inlay_file *file = model_open(model);
    inlay_file_table table = table_of(file, "table");
    expect_element(&table, 0, 1, 8);
    inlay_file_close(file);
}
END_TEST

/* ---- Several tensors -------------------------------------------------------------------------------------------- */

/* Adds "p.shard_N.weight" [rows, 32] of FP8 whose bytes are all 0x38 + N. */
static void add_shard(struct model *model, size_t number, const char *type, size_t rows, size_t columns)
{
    char name[64];
    unsigned char *bytes = malloc(rows * columns + 1);
    memset(bytes, 0x38 + (int)number % 8, rows * columns);
    snprintf(name, sizeof name, "p.shard_%zu.weight", number);
    model_add(model, name, type, rows, columns, bytes, rows * columns);
    free(bytes);
}

static void add_shard_scale(struct model *model, size_t number, const char *type, size_t rows, const void *scales,
                            size_t bytes)
{
    char name[64];
    snprintf(name, sizeof name, "p.shard_%zu.weight_scale", number);
    model_add(model, name, type, rows, rows > 0 ? 1 : 0, scales, bytes);
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
        struct model *model = model_make();
        size_t count = 0, total = 0;
        for (; rows[i][count] > 0; count++)
            total += rows[i][count];
        /* In another order than that of their numbers. */
        for (size_t k = count; k-- > 0;)
            add_shard(model, k, "F8_E4M3", rows[i][k], 32);
        inlay_file *file = model_open(model);
        inlay_file_table table = table_of(file, "p.shard_*.weight");
        EXPECT(table.view.rows == total && table.view.extent_count == (count > 1 ? count : 0) &&
                   table.view.extent_rows == regular[i],
               "%zu rows in %zu extents of %zu", table.view.rows, table.view.extent_count, table.view.extent_rows);
        for (size_t k = 0, first = 0; k < count; first += rows[i][k++]) {
            expect_element(&table, first, 0, eighths(k));
            expect_element(&table, first + rows[i][k] - 1, 31, eighths(k));
        }
        expect_no_table(file, "p.shard_*", INLAY_FILE_ERROR_MISSING, "no tensor of number 0");
        expect_no_table(file, "*", INLAY_FILE_ERROR_MISSING, "no tensor of number 0");
        expect_no_table(file, "p.*_*.weight", INLAY_FILE_ERROR_ARGUMENT, "one *, which stands");
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(numbers_begin_at_0_without_a_gap)
{
    struct model *model = model_make();
    add_shard(model, 0, "F8_E4M3", 1, 32);
    add_shard(model, 2, "F8_E4M3", 1, 32);
    inlay_file *file = model_open(model);
    EXPECT(table_of(file, "p.shard_*.weight").view.rows == 1, "tensor 1 is not there");
    inlay_file_close(file);
    model = model_make();
    add_shard(model, 1, "F8_E4M3", 1, 32);
    file = model_open(model);
    expect_no_table(file, "p.shard_*.weight", INLAY_FILE_ERROR_MISSING, "no tensor of number 0");
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
        {"U8", 1, 32, "no table can have its type"},
    };
    for (size_t i = 0; i < sizeof second / sizeof *second; i++) {
        struct model *model = model_make();
        add_shard(model, 0, "F8_E4M3", 2, 32);
        if (second[i].rows > 0)
            add_shard(model, 1, second[i].type, second[i].rows, second[i].columns);
        else
            model_add(model, "p.shard_1.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[0,32],\"data_offsets\":[64,64]},\"x",
                      "U8", 1, 0, "", 1);
        inlay_file *file = model_open(model);
        expect_no_table(file, "p.shard_*.weight", i == 3 ? INLAY_FILE_ERROR_TYPE : INLAY_FILE_ERROR_SHAPE,
                        second[i].message);
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(scales_of_several_tensors)
{
    static const float pair[] = {2, 4};
    /* Of each row. */
    struct model *model = model_make();
    for (size_t k = 0; k < 2; k++) {
        add_shard(model, k, "F8_E4M3", 2, 32);
        add_shard_scale(model, k, "F32", 2, pair, 8);
    }
    inlay_file *file = model_open(model);
    inlay_file_table table = table_of(file, "p.shard_*.weight");
    expect_element(&table, 3, 0, 4 * eighths(1));
    inlay_file_close(file);
    /* Exponents. */
    model = model_make();
    for (size_t k = 0; k < 2; k++) {
        add_shard(model, k, "F8_E4M3", 2, 32);
        add_shard_scale(model, k, "F8_E8M0", 2, "\x7f\x80", 2);
    }
    file = model_open(model);
    table = table_of(file, "p.shard_*.weight");
    EXPECT(table.view.type == INLAY_E4M3_E8M0, "exponents");
    expect_element(&table, 3, 0, 2 * eighths(1));
    inlay_file_close(file);
    /* One number for each, which must be the same. */
    for (int other = 0; other <= 1; other++) {
        model = model_make();
        for (size_t k = 0; k < 2; k++) {
            add_shard(model, k, "F8_E4M3", 2, 32);
            add_shard_scale(model, k, "F32", 0, &pair[k * (size_t)other], 4);
        }
        file = model_open(model);
        if (other)
            expect_no_table(file, "p.shard_*.weight", INLAY_FILE_ERROR_SHAPE, "its scales are not like those");
        else {
            table = table_of(file, "p.shard_*.weight");
            expect_element(&table, 3, 0, 2 * eighths(1));
        }
        inlay_file_close(file);
    }
    /* Of one tensor only. */
    model = model_make();
    add_shard(model, 0, "F8_E4M3", 2, 32);
    add_shard(model, 1, "F8_E4M3", 2, 32);
    add_shard_scale(model, 1, "F32", 2, pair, 8);
    file = model_open(model);
    expect_no_table(file, "p.shard_*.weight", INLAY_FILE_ERROR_SHAPE, "its scales are not like those");
    inlay_file_close(file);
    /* One number beside the part before the star. */
    for (size_t rows = 0; rows <= 4; rows += 4) {
        model = model_make();
        add_shard(model, 0, "F8_E4M3", 2, 32);
        add_shard(model, 1, "F8_E4M3", 2, 32);
        model_add(model, "p.weight_scale", "F32", rows, 0, (float[]){2, 2, 2, 2}, rows > 0 ? 16 : 4);
        file = model_open(model);
        if (rows > 0)
            expect_no_table(file, "p.shard_*.weight", INLAY_FILE_ERROR_SHAPE, "p.weight_scale: it is not one number");
        else {
            table = table_of(file, "p.shard_*.weight");
            EXPECT(table.scale == 2, "the scale is %g", (double)table.scale);
            expect_element(&table, 2, 0, 2 * eighths(1));
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
        if (inlay_file_table_of(file, "p.shard_*.weight", &table, NULL) != INLAY_FILE_OK ||
            inlay_gather(&table.view, &id, INLAY_ID_I64, 1, 1, row, sizeof row, NULL, NULL) != INLAY_OK ||
            row[0] != eighths(1))
            return NULL;
    return context;
}

START_TEST(threads_share_a_file)
{
    pthread_t threads[4];
    struct model *model = model_make();
    add_shard(model, 0, "F8_E4M3", 2, 32);
    add_shard(model, 1, "F8_E4M3", 2, 32);
    inlay_file *file = model_open(model);
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
                     plain_tables, scales_have_several_names_and_shapes, other_scales_are_refused,
                     scales_of_plain_names, patterns_join_tensors, numbers_begin_at_0_without_a_gap,
                     tensors_that_do_not_join, scales_of_several_tensors, threads_share_a_file);
}
