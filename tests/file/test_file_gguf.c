/* SPDX-License-Identifier: MIT */
/*
 * GGUF files: valid ones of both versions with values of every type, and the arithmetic that broke other readers:
 * counts, lengths, products, paddings and offsets that overflow or exceed the file.
 */
#define _XOPEN_SOURCE 700 /* truncate */

#include "file/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };

static const char *write_gguf(struct blob blob)
{
    return write_blob("a.gguf", blob);
}

/* Returns a file with one value, without its bytes. */
static struct blob with_value(const char *key, uint32_t type)
{
    struct blob blob = blob_gguf(0, 1);
    blob_value(&blob, key, type);
    return blob;
}

/* Returns a file with one tensor and a number of bytes of data. */
static struct blob with_tensor(uint32_t rank, const uint64_t *sizes, uint32_t type, uint64_t offset, size_t data)
{
    struct blob blob = blob_gguf(1, 0);
    blob_tensor(&blob, "w", rank, sizes, type, offset);
    blob_data(&blob, 32, data);
    return blob;
}

/* ---- Headers ---------------------------------------------------------------------------------------------------- */

START_TEST(versions_two_and_three_are_read)
{
    static const struct {
        uint32_t version;
        const char *message;
    } versions[] = {
        {0, "version 0"},           {1, "version 1"},           {4, "version 4"}, {UINT32_MAX, "version 4294967295"},
        {0x03000000, "big-endian"}, {0x02000000, "big-endian"},
    };
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct blob blob = blob_gguf(0, 0);
        memcpy(blob.bytes + 4, &versions[i].version, 4);
        expect_refused(write_gguf(blob), INLAY_FILE_ERROR_KIND, "", versions[i].message);
    }
    for (uint32_t version = 2; version <= 3; version++) {
        struct blob blob = blob_gguf(0, 0);
        memcpy(blob.bytes + 4, &version, 4);
        inlay_file *file = open_good(write_gguf(blob));
        EXPECT(inlay_file_tensor_count(file) == 0 && inlay_file_value_count(file) == 0, "it is empty");
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(counts_are_bounded_by_the_bytes)
{
    static const uint64_t counts[] = {1, 2, UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        expect_refused(write_gguf(blob_gguf(counts[i], 0)), INLAY_FILE_ERROR_TRUNCATED, "", "counts more");
        expect_refused(write_gguf(blob_gguf(0, counts[i])), INLAY_FILE_ERROR_TRUNCATED, "", "counts more");
        /* Lengths of a key, a string, an array of each, and a name. */
        struct blob blob = blob_gguf(0, 1);
        blob_number(&blob, counts[i] + 64, 8);
        blob_zeros(&blob, 32);
        expect_refused(write_gguf(blob), INLAY_FILE_ERROR_TRUNCATED, "", "ends within its header");
        blob = with_value("k", STRING);
        blob_number(&blob, counts[i], 8);
        expect_refused(write_gguf(blob), INLAY_FILE_ERROR_TRUNCATED, "k", "ends within its header");
        for (uint32_t type = 0; type <= F64; type++) {
            blob = with_value("k", ARRAY);
            blob_number(&blob, type, 4);
            blob_number(&blob, counts[i], 8);
            expect_refused(write_gguf(blob), type == ARRAY ? INLAY_FILE_ERROR_LIMIT : INLAY_FILE_ERROR_TRUNCATED, "k",
                           type == ARRAY ? "array of arrays" : "ends within its header");
        }
        blob = blob_gguf(1, 0);
        blob_number(&blob, counts[i] + 64, 8);
        blob_zeros(&blob, 32);
        expect_refused(write_gguf(blob), INLAY_FILE_ERROR_TRUNCATED, "", "ends within its header");
    }
    /* A sparse file has all the bytes. */
    struct blob blob = with_value("k", ARRAY);
    blob_number(&blob, U8, 4);
    blob_number(&blob, 100000000, 8);
    const char *path = write_gguf(blob);
    ck_assert_int_eq(truncate(path, 120000000), 0);
    expect_refused(path, INLAY_FILE_ERROR_LIMIT, "k", "100 MB");
}
END_TEST

START_TEST(types_of_values)
{
    for (uint32_t type = F64 + 1; type != 0; type *= 3) {
        struct blob blob = with_value("k", type);
        blob_zeros(&blob, 32);
        expect_refused(write_gguf(blob), INLAY_FILE_ERROR_SYNTAX, "k", "unknown type");
        blob = with_value("k", ARRAY);
        blob_number(&blob, type, 4);
        blob_zeros(&blob, 32);
        expect_refused(write_gguf(blob), INLAY_FILE_ERROR_SYNTAX, "k", "unknown type");
        if (type > UINT32_MAX / 3)
            break;
    }
    struct blob blob = with_value("k", ARRAY);
    for (int depth = 0; depth < 10000; depth++) {
        blob_number(&blob, ARRAY, 4);
        blob_number(&blob, 1, 8);
    }
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_LIMIT, "k", "array of arrays");
}
END_TEST

START_TEST(names_are_unique_and_utf8)
{
    struct blob blob = with_value("k\xff", U8);
    blob_zeros(&blob, 1);
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8");
    blob = blob_gguf(0, 1);
    blob_number(&blob, 3, 8);
    blob_add(&blob, "a\0b", 3);
    blob_zeros(&blob, 5);
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_SYNTAX, "", "U+0000");
    blob = blob_gguf(0, 2);
    blob_u32_value(&blob, "twice", 1);
    blob_u32_value(&blob, "twice", 1);
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_DUPLICATE, "twice", "twice");
    blob = blob_gguf(2, 0);
    blob_tensor(&blob, "w", 1, (uint64_t[]){8}, 0, 0);
    blob_tensor(&blob, "w", 1, (uint64_t[]){8}, 0, 32);
    blob_data(&blob, 32, 64);
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_DUPLICATE, "w", "two tensors");
    blob = blob_gguf(1, 0);
    blob_tensor(&blob, "\xc3", 1, (uint64_t[]){8}, 0, 0);
    blob_data(&blob, 32, 32);
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8");
}
END_TEST

START_TEST(alignments_are_powers_of_two)
{
    static const struct {
        uint32_t alignment;
        inlay_file_status status;
    } alignments[] = {
        {0, INLAY_FILE_ERROR_SYNTAX},
        {3, INLAY_FILE_ERROR_SYNTAX},
        {48, INLAY_FILE_ERROR_SYNTAX},
        {UINT32_MAX, INLAY_FILE_ERROR_SYNTAX},
        {1u << 21, INLAY_FILE_ERROR_LIMIT},
        {1u << 31, INLAY_FILE_ERROR_LIMIT},
        {1, INLAY_FILE_OK},
        {8, INLAY_FILE_OK},
        {1u << 20, INLAY_FILE_OK},
    };
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        uint32_t alignment = alignments[i].alignment;
        struct blob blob = blob_gguf(2, 1);
        blob_u32_value(&blob, "general.alignment", alignment);
        blob_tensor(&blob, "a", 1, (uint64_t[]){1}, 24, 0);
        blob_tensor(&blob, "b", 1, (uint64_t[]){1}, 24, alignment);
        if (alignments[i].status == INLAY_FILE_OK) {
            blob_data(&blob, alignment, alignment + 1);
            blob.bytes[blob.size - 1] = 7;
            inlay_file *file = open_good(write_gguf(blob));
            EXPECT(*(const char *)inlay_file_find_tensor(file, "b")->data == 7, "alignment %u", alignment);
            inlay_file_close(file);
        } else {
            blob_data(&blob, 32, 64);
            expect_refused(write_gguf(blob), alignments[i].status, "general.alignment", "alignment");
        }
    }
    struct blob blob = with_value("general.alignment", U64);
    blob_number(&blob, 32, 8);
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_SYNTAX, "general.alignment", "uint32");
    blob = with_value("general.alignment", STRING);
    blob_string(&blob, "32");
    expect_refused(write_gguf(blob), INLAY_FILE_ERROR_SYNTAX, "general.alignment", "uint32");
}
END_TEST

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

static void refuse_tensor(uint32_t rank, const uint64_t *sizes, uint32_t type, uint64_t offset, size_t data,
                          inlay_file_status status, const char *message)
{
    expect_refused(write_gguf(with_tensor(rank, sizes, type, offset, data)), status, "w", message);
}

START_TEST(shapes_and_ranges)
{
    static const uint64_t big[] = {UINT64_C(1) << 32, UINT64_C(1) << 32, UINT64_C(1) << 32, 4};
    refuse_tensor(5, (uint64_t[]){1, 1, 1, 1, 1}, 0, 0, 32, INLAY_FILE_ERROR_LIMIT, "more than 4 dimensions");
    refuse_tensor(4, big, 0, 0, 32, INLAY_FILE_ERROR_RANGE, "overflows");
    refuse_tensor(2, big, 0, 0, 32, INLAY_FILE_ERROR_RANGE, "overflows");
    /* 2^62 elements of 4 bytes are 0 bytes modulo 2^64. */
    refuse_tensor(2, (uint64_t[]){UINT64_C(1) << 31, UINT64_C(1) << 31}, 0, 0, 0, INLAY_FILE_ERROR_RANGE, "overflows");
    refuse_tensor(1, (uint64_t[]){UINT64_C(1) << 63}, 24, 0, 32, INLAY_FILE_ERROR_RANGE, "negative");
    refuse_tensor(1, (uint64_t[]){UINT64_MAX}, 24, 0, 32, INLAY_FILE_ERROR_RANGE, "negative");
    refuse_tensor(2, (uint64_t[]){0, UINT64_MAX}, 24, 0, 32, INLAY_FILE_ERROR_RANGE, "negative");
    /* Blocks must not cross rows. */
    refuse_tensor(1, (uint64_t[]){31}, 8, 0, 34, INLAY_FILE_ERROR_RANGE, "not whole blocks of Q8_0");
    refuse_tensor(2, (uint64_t[]){16, 2}, 8, 0, 34, INLAY_FILE_ERROR_RANGE, "not whole blocks of Q8_0");
    refuse_tensor(2, (uint64_t[]){128, 2}, 12, 0, 144, INLAY_FILE_ERROR_RANGE, "not whole blocks of Q4_K");
    refuse_tensor(0, NULL, 8, 0, 34, INLAY_FILE_ERROR_RANGE, "not whole blocks of Q8_0");
    /* Removed types, and unused numbers. */
    static const uint32_t types[] = {4, 5, 31, 32, 33, 36, 37, 38, 42, 1000, UINT32_MAX};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        refuse_tensor(1, (uint64_t[]){32}, types[i], 0, 128, INLAY_FILE_ERROR_TYPE, "this version does not know");
    /* Offsets and sizes at the end of the file. */
    refuse_tensor(1, (uint64_t[]){8}, 0, 0, 31, INLAY_FILE_ERROR_TRUNCATED, "past the end");
    refuse_tensor(1, (uint64_t[]){9}, 0, 0, 32, INLAY_FILE_ERROR_TRUNCATED, "past the end");
    refuse_tensor(1, (uint64_t[]){8}, 0, 32, 32, INLAY_FILE_ERROR_TRUNCATED, "past the end");
    refuse_tensor(1, (uint64_t[]){8}, 0, 32, 64, INLAY_FILE_ERROR_RANGE, "after byte");
    refuse_tensor(1, (uint64_t[]){8}, 0, 31, 64, INLAY_FILE_ERROR_RANGE, "multiple of the alignment");
    refuse_tensor(1, (uint64_t[]){8}, 0, UINT64_MAX - 31, 64, INLAY_FILE_ERROR_TRUNCATED, "past the end");
    refuse_tensor(1, (uint64_t[]){8}, 0, UINT64_C(1) << 63, 64, INLAY_FILE_ERROR_TRUNCATED, "past the end");
    refuse_tensor(1, (uint64_t[]){INT64_MAX}, 24, 0, 32, INLAY_FILE_ERROR_TRUNCATED, "past the end");
    refuse_tensor(2, (uint64_t[]){INT64_MAX, 2}, 24, 0, 32, INLAY_FILE_ERROR_TRUNCATED, "past the end");
}
END_TEST

START_TEST(overlaps_and_holes)
{
    static const struct {
        uint64_t offsets[2];
        const char *message;
    } wrong[] = {{{0, 0}, "before byte"}, {{0, 32}, "before byte"}, {{0, 96}, "after byte"}, {{32, 96}, "after byte"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct blob blob = blob_gguf(2, 0);
        blob_tensor(&blob, "a", 1, (uint64_t[]){9}, 0, wrong[i].offsets[0]);
        blob_tensor(&blob, "b", 1, (uint64_t[]){9}, 0, wrong[i].offsets[1]);
        blob_data(&blob, 32, 256);
        expect_refused(write_gguf(blob), INLAY_FILE_ERROR_RANGE, NULL, wrong[i].message);
    }
    /* In any order, without padding after the last one, and with more bytes after it. */
    for (size_t more = 0; more < 100; more += 33) {
        struct blob blob = blob_gguf(3, 0);
        blob_tensor(&blob, "b", 1, (uint64_t[]){9}, 0, 64);
        blob_tensor(&blob, "none", 2, (uint64_t[]){0, 5}, 0, 64);
        blob_tensor(&blob, "a", 1, (uint64_t[]){9}, 0, 0);
        blob_data(&blob, 32, 64 + 36 + more);
        inlay_file *file = open_good(write_gguf(blob));
        EXPECT(strcmp(inlay_file_tensor_at(file, 0)->name, "a") == 0, "in the order of data");
        EXPECT(inlay_file_find_tensor(file, "none")->bytes == 0, "no bytes");
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(types_of_tensors)
{
    for (size_t i = 0; i < TYPES_OF_GGML; i++) {
        const struct type_of_ggml *const type = &types_of_ggml[i];
        uint64_t sizes[] = {2 * type->block, 3};
        size_t bytes = (size_t)6 * type->bytes;
        refuse_tensor(2, sizes, type->number, 0, bytes - 1, INLAY_FILE_ERROR_TRUNCATED, "past the end");
        inlay_file *file = open_good(write_gguf(with_tensor(2, sizes, type->number, 0, bytes)));
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, 0);
        EXPECT(strcmp(tensor->type, type->name) == 0 && tensor->element == type->element && tensor->bytes == bytes &&
                   tensor->rank == 2 && tensor->shape[0] == 3 && tensor->shape[1] == sizes[0],
               "%s, %s", type->name, tensor->type);
        inlay_file_table table;
        float row[512];
        const inlay_element_type element = strcmp(type->name, "F64") == 0 ? INLAY_F32 : type->element;
        if (element == 0)
            expect_no_table(file, "w", INLAY_FILE_ERROR_TYPE, type->name);
        else if (inlay_file_get_table(file, "w", &table, NULL) != INLAY_FILE_OK)
            ck_abort_msg("no table of %s", type->name);
        else {
            EXPECT(table.view.rows == 3 && table.view.dim == sizes[0] && table.view.type == element, "%s", type->name);
            read_row(&table, 2, row);
        }
        inlay_file_close(file);
    }
}
END_TEST

/* ---- Values ----------------------------------------------------------------------------------------------------- */

static const inlay_file_value *named(const inlay_file *file, const char *key, inlay_file_value_kind kind)
{
    const inlay_file_value *value = inlay_file_find_value(file, key);
    EXPECT(value != NULL && value->kind == kind, "%s is of kind %d", key, value != NULL ? (int)value->kind : -1);
    return value;
}

START_TEST(numbers_of_every_type)
{
    static const struct {
        const char *key;
        uint32_t type;
        size_t bytes;
        uint64_t bits;
        inlay_file_value_kind kind;
        int64_t integer;
        double number;
    } values[] = {
        {"u8", U8, 1, 255, INLAY_FILE_VALUE_INTEGER, 255, 255},
        {"i8", I8, 1, 255, INLAY_FILE_VALUE_INTEGER, -1, -1},
        {"u16", U16, 2, 65535, INLAY_FILE_VALUE_INTEGER, 65535, 65535},
        {"i16", I16, 2, 0x8000, INLAY_FILE_VALUE_INTEGER, -32768, -32768},
        {"u32", U32, 4, UINT32_MAX, INLAY_FILE_VALUE_INTEGER, UINT32_MAX, UINT32_MAX},
        {"i32", I32, 4, 0x80000000, INLAY_FILE_VALUE_INTEGER, INT32_MIN, INT32_MIN},
        {"u64", U64, 8, INT64_MAX, INLAY_FILE_VALUE_INTEGER, INT64_MAX, 9223372036854775808.0},
        {"more", U64, 8, UINT64_MAX, INLAY_FILE_VALUE_NUMBER, 0, 18446744073709551616.0},
        {"i64", I64, 8, UINT64_C(1) << 63, INLAY_FILE_VALUE_INTEGER, INT64_MIN, -9223372036854775808.0},
        {"f32", F32, 4, 0xbfc00000, INLAY_FILE_VALUE_NUMBER, 0, -1.5},
        {"f64", F64, 8, UINT64_C(0x3ff8000000000000), INLAY_FILE_VALUE_NUMBER, 0, 1.5},
        {"true", BOOL, 1, 1, INLAY_FILE_VALUE_BOOLEAN, 1, 0},
        {"false", BOOL, 1, 0, INLAY_FILE_VALUE_BOOLEAN, 0, 0},
    };
    enum { VALUES = sizeof values / sizeof *values };
    struct blob blob = blob_gguf(0, VALUES);
    for (size_t i = 0; i < VALUES; i++) {
        blob_value(&blob, values[i].key, values[i].type);
        blob_number(&blob, values[i].bits, values[i].bytes);
    }
    inlay_file *file = open_good(write_gguf(blob));
    for (size_t i = 0; i < VALUES; i++) {
        const inlay_file_value *value = named(file, values[i].key, values[i].kind);
        EXPECT(value->integer == values[i].integer && value->number == values[i].number && value->text == NULL &&
                   value->count == 0,
               "%s is %lld, %g", value->key, (long long)value->integer, value->number);
    }
    for (size_t i = 1; i < inlay_file_value_count(file); i++)
        EXPECT(strcmp(inlay_file_value_at(file, i - 1)->key, inlay_file_value_at(file, i)->key) < 0, "order of keys");
    inlay_file_close(file);
}
END_TEST

START_TEST(strings_and_arrays)
{
    struct blob blob = blob_gguf(0, 3);
    blob_value(&blob, "text", STRING);
    blob_number(&blob, 3, 8);
    blob_add(&blob, "a\0b", 3);
    blob_value(&blob, "tokens", ARRAY);
    blob_number(&blob, STRING, 4);
    blob_number(&blob, 3, 8);
    blob_string(&blob, "one");
    blob_string(&blob, "");
    blob_string(&blob, "\xc3\xa9");
    blob_value(&blob, "none", ARRAY);
    blob_number(&blob, F64, 4);
    blob_number(&blob, 0, 8);
    inlay_file *file = open_good(write_gguf(blob));
    const inlay_file_value *value = named(file, "text", INLAY_FILE_VALUE_STRING);
    EXPECT(value->count == 3 && memcmp(value->text, "a\0b", 4) == 0, "a string with a zero");
    value = named(file, "tokens", INLAY_FILE_VALUE_STRINGS);
    EXPECT(value->count == 3 && strcmp(value->strings[0], "one") == 0 && value->strings[1][0] == '\0' &&
               strcmp(value->strings[2], "\xc3\xa9") == 0,
           "strings");
    EXPECT(named(file, "none", INLAY_FILE_VALUE_ARRAY_F64)->count == 0, "no numbers");
    inlay_file_close(file);
}
END_TEST

/* Arrays are read in place, at any address. */
START_TEST(arrays_of_every_type)
{
    static const struct {
        uint32_t type;
        inlay_file_value_kind kind;
        size_t bytes;
        uint64_t bits[2];
        int64_t integers[2];
        double numbers[2];
    } arrays[] = {
        {U8, INLAY_FILE_VALUE_ARRAY_U8, 1, {255, 1}, {255, 1}, {255, 1}},
        {I8, INLAY_FILE_VALUE_ARRAY_I8, 1, {255, 1}, {-1, 1}, {-1, 1}},
        {U16, INLAY_FILE_VALUE_ARRAY_U16, 2, {65535, 1}, {65535, 1}, {65535, 1}},
        {I16, INLAY_FILE_VALUE_ARRAY_I16, 2, {0xfffe, 0x8000}, {-2, -32768}, {-2, -32768}},
        {U32, INLAY_FILE_VALUE_ARRAY_U32, 4, {UINT32_MAX, 1}, {UINT32_MAX, 1}, {UINT32_MAX, 1}},
        {I32, INLAY_FILE_VALUE_ARRAY_I32, 4, {UINT32_MAX, 1}, {-1, 1}, {-1, 1}},
        {F32, INLAY_FILE_VALUE_ARRAY_F32, 4, {0x3fc00000, 0}, {0, 0}, {1.5, 0}},
        {BOOL, INLAY_FILE_VALUE_ARRAY_BOOL, 1, {2, 0}, {1, 0}, {1, 0}},
        {U64, INLAY_FILE_VALUE_ARRAY_U64, 8, {INT64_MAX, UINT64_MAX}, {INT64_MAX, 0}, {0x1p63, 0x1p64}},
        {I64, INLAY_FILE_VALUE_ARRAY_I64, 8, {UINT64_MAX, UINT64_C(1) << 63}, {-1, INT64_MIN}, {-1, -0x1p63}},
        {F64, INLAY_FILE_VALUE_ARRAY_F64, 8, {0, UINT64_C(0x3ff8000000000000)}, {0, 0}, {0, 1.5}},
    };
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    for (int shift = 0; shift < 8; shift++) {
        struct blob blob = blob_gguf(0, ARRAYS);
        for (size_t i = 0; i < ARRAYS; i++) {
            char key[16];
            snprintf(key, sizeof key, "%02zu%.*s", i, i == 0 ? shift : 0, "xxxxxxx");
            blob_value(&blob, key, ARRAY);
            blob_number(&blob, arrays[i].type, 4);
            blob_number(&blob, 2, 8);
            blob_number(&blob, arrays[i].bits[0], arrays[i].bytes);
            blob_number(&blob, arrays[i].bits[1], arrays[i].bytes);
        }
        inlay_file *file = open_good(write_gguf(blob));
        for (size_t i = 0; i < ARRAYS; i++) {
            const inlay_file_value *value = inlay_file_value_at(file, i);
            EXPECT(value->kind == arrays[i].kind && value->count == 2 && value->integers == NULL &&
                       value->numbers == NULL && value->strings == NULL && value->text != NULL,
                   "array %zu is of kind %d", i, (int)value->kind);
            const bool floats = arrays[i].type == F32 || arrays[i].type == F64;
            for (size_t k = 0; k < 2; k++) {
                int64_t integer = 77;
                double number;
                const bool large = arrays[i].type == U64 && k == 1;
                const inlay_file_status status = inlay_file_value_integers(value, k, 1, &integer);
                EXPECT(status == (floats || large ? INLAY_FILE_ERROR_TYPE : INLAY_FILE_OK), "array %zu: %d", i, status);
                EXPECT(integer == (status == INLAY_FILE_OK ? arrays[i].integers[k] : 77), "array %zu: %lld", i,
                       (long long)integer);
                EXPECT(inlay_file_value_numbers(value, k, 1, &number) == INLAY_FILE_OK &&
                           number == arrays[i].numbers[k],
                       "array %zu: %g", i, number);
            }
            double numbers[2];
            int64_t integers[2] = {77, 77};
            EXPECT(inlay_file_value_numbers(value, 0, 2, numbers) == INLAY_FILE_OK &&
                       memcmp(numbers, arrays[i].numbers, sizeof numbers) == 0,
                   "both of array %zu", i);
            const bool both = inlay_file_value_integers(value, 0, 2, integers) == INLAY_FILE_OK;
            EXPECT(both == (!floats && arrays[i].type != U64) && (both || integers[0] == 77), "both of array %zu", i);
        }
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(ranges_of_arrays)
{
    static const int64_t some[] = {5, 6, 7};
    const inlay_file_value integers = {.kind = INLAY_FILE_VALUE_INTEGERS, .count = 3, .integers = some};
    const inlay_file_value text = {.kind = INLAY_FILE_VALUE_STRING, .count = 3, .text = "abc"};
    const inlay_file_value unknown = {.kind = INLAY_FILE_VALUE_ARRAY_F64 + 1, .count = 3, .text = "abc"};
    int64_t out[3] = {0, 0, 0};
    double numbers[3];
    EXPECT(inlay_file_value_integers(&integers, 1, 2, out) == INLAY_FILE_OK && out[0] == 6 && out[1] == 7, "integers");
    EXPECT(inlay_file_value_numbers(&integers, 0, 3, numbers) == INLAY_FILE_OK && numbers[2] == 7, "as numbers");
    EXPECT(inlay_file_value_integers(&integers, 3, 0, NULL) == INLAY_FILE_OK, "none of them");
    EXPECT(inlay_file_value_integers(&integers, 0, 4, out) == INLAY_FILE_ERROR_ARGUMENT, "too many");
    EXPECT(inlay_file_value_integers(&integers, 2, 2, out) == INLAY_FILE_ERROR_ARGUMENT, "one of them there");
    EXPECT(inlay_file_value_integers(&integers, 4, 0, out) == INLAY_FILE_ERROR_ARGUMENT, "past the end");
    EXPECT(inlay_file_value_numbers(&integers, 1, SIZE_MAX, numbers) == INLAY_FILE_ERROR_ARGUMENT, "a wrapped end");
    EXPECT(inlay_file_value_integers(&integers, 0, 1, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no output");
    EXPECT(inlay_file_value_numbers(NULL, 0, 1, numbers) == INLAY_FILE_ERROR_ARGUMENT, "no value");
    EXPECT(inlay_file_value_integers(&text, 0, 1, out) == INLAY_FILE_ERROR_TYPE, "integers of a text");
    EXPECT(inlay_file_value_numbers(&text, 0, 1, numbers) == INLAY_FILE_ERROR_TYPE, "numbers of a text");
    EXPECT(inlay_file_value_numbers(&unknown, 0, 1, numbers) == INLAY_FILE_ERROR_TYPE, "numbers of another kind");
}
END_TEST

/* A header takes about as much memory as it has bytes, for arrays of any type. */
START_TEST(arrays_take_the_memory_of_the_file)
{
    enum { MANY = 90000000, STRINGS = 2000000, MIB = 1 << 20 };
    struct blob blob = with_value("k", ARRAY);
    blob_number(&blob, I8, 4);
    blob_number(&blob, MANY, 8);
    const char *path = write_gguf(blob);
    ck_assert_int_eq(truncate(path, MANY + 100), 0);
    inlay_file *file = open_within(path, MIB);
    const inlay_file_value *value = named(file, "k", INLAY_FILE_VALUE_ARRAY_I8);
    int64_t last = 1;
    EXPECT(value->count == MANY && inlay_file_value_integers(value, MANY - 1, 1, &last) == INLAY_FILE_OK && last == 0,
           "the last of many");
    inlay_file_close(file);
    blob = with_value("k", ARRAY);
    blob_number(&blob, STRING, 4);
    blob_number(&blob, STRINGS, 8);
    blob_zeros(&blob, (size_t)8 * STRINGS);
    file = open_within(write_gguf(blob), 9 * STRINGS + 2 * MIB);
    EXPECT(named(file, "k", INLAY_FILE_VALUE_STRINGS)->strings[STRINGS - 1][0] == '\0', "the last of many strings");
    inlay_file_close(file);
}
END_TEST

/* The numbers of empty tensors and values are limited, since each takes more memory than its bytes. */
START_TEST(tensors_and_values_are_limited)
{
    enum { VALUES = 1 << 18, TENSORS = 1 << 20 };
    for (unsigned more = 0; more < 2; more++) {
        struct blob blob = blob_gguf(0, VALUES + more);
        for (unsigned i = 0; i < VALUES + more; i++) {
            char key[16];
            snprintf(key, sizeof key, "%u", i);
            blob_value(&blob, key, U8);
            blob_zeros(&blob, 1);
        }
        const char *path = write_gguf(blob);
        inlay_file *file = NULL;
        inlay_file_error error = {0};
        inlay_file_status status = inlay_file_open(path, NULL, &file, &error);
        EXPECT(status == (more ? INLAY_FILE_ERROR_LIMIT : INLAY_FILE_OK), "%u values: %s", VALUES + more,
               error.message);
        EXPECT(!more || strstr(error.message, "more than 1048576 tensors or 262144 values") != NULL, "%s",
               error.message);
        inlay_file_close(file);
    }
    struct blob blob = blob_gguf(TENSORS + 1, 0);
    for (unsigned i = 0; i <= TENSORS; i++)
        blob_tensor(&blob, "", 0, NULL, 24, 0);
    inlay_file *file = NULL;
    inlay_file_error error = {0};
    EXPECT(inlay_file_open(write_gguf(blob), NULL, &file, &error) == INLAY_FILE_ERROR_LIMIT, "%s", error.message);
    EXPECT(strstr(error.message, "more than 1048576 tensors") != NULL, "%s", error.message);
}
END_TEST

START_TEST(damaged_files_do_no_harm)
{
    struct blob blob = blob_gguf(3, 4);
    blob_u32_value(&blob, "general.alignment", 8);
    blob_value(&blob, "tokens", ARRAY);
    blob_number(&blob, STRING, 4);
    blob_number(&blob, 2, 8);
    blob_string(&blob, "a");
    blob_string(&blob, "bc");
    blob_value(&blob, "f", F64);
    blob_number(&blob, 0, 8);
    blob_value(&blob, "i", ARRAY);
    blob_number(&blob, U16, 4);
    blob_number(&blob, 2, 8);
    blob_number(&blob, 0x10002, 4);
    blob_tensor(&blob, "a", 2, (uint64_t[]){5, 2}, 0, 0);
    blob_tensor(&blob, "b", 2, (uint64_t[]){32, 2}, 8, 40);
    blob_tensor(&blob, "c", 1, (uint64_t[]){3}, 24, 112);
    blob_data(&blob, 8, 115);
    expect_survived(blob, 0);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "GGUF", make_folder, remove_folder, versions_two_and_three_are_read,
                     counts_are_bounded_by_the_bytes, types_of_values, names_are_unique_and_utf8,
                     alignments_are_powers_of_two, shapes_and_ranges, overlaps_and_holes, types_of_tensors,
                     numbers_of_every_type, strings_and_arrays, arrays_of_every_type, ranges_of_arrays,
                     arrays_take_the_memory_of_the_file, tensors_and_values_are_limited, damaged_files_do_no_harm);
}
