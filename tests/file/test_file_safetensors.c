/* SPDX-License-Identifier: MIT */
/*
 * Safetensors files: valid ones at any address and with any white space, and every known way to break one. The rules
 * are those of the reference reader, or stricter (docs/files.md).
 */
#include "file/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F32_4 "\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]"

/* Headers that must be rejected, each followed by a number of bytes of data. */
static const struct {
    const char *header;
    size_t data;
    inlay_file_status status;
    const char *name, *message;
} refused[] = {
    /* The object. */
    {"", 0, INLAY_FILE_ERROR_SYNTAX, "", "an object is expected at byte 0"},
    {"[]", 0, INLAY_FILE_ERROR_SYNTAX, "", "an object is expected"},
    {"\"a\"", 0, INLAY_FILE_ERROR_SYNTAX, "", "an object is expected"},
    {"\v{}", 0, INLAY_FILE_ERROR_SYNTAX, "", "an object is expected"},
    {"\xef\xbb\xbf{}", 0, INLAY_FILE_ERROR_SYNTAX, "", "an object is expected"},
    {"{", 0, INLAY_FILE_ERROR_SYNTAX, "", "at byte 1"},
    {"{}x", 0, INLAY_FILE_ERROR_SYNTAX, "", "text follows the end at byte 2"},
    {"{}{}", 0, INLAY_FILE_ERROR_SYNTAX, "", "text follows"},
    {"{,}", 0, INLAY_FILE_ERROR_SYNTAX, "", "a string is expected"},
    {"{\"a\"}", 0, INLAY_FILE_ERROR_SYNTAX, "", "a colon is expected"},
    {"{\"a\":}", 0, INLAY_FILE_ERROR_SYNTAX, "a", "an object is expected"},
    {"{\"a\":{" F32_4 "},}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a string is expected"},
    {"{\"a\":{" F32_4 "} \"b\":{}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a comma or the end of the object"},
    {"{a:{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a string is expected"},
    {"{'a':{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a string is expected"},
    {"{/**/\"a\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a string is expected"},
    {"{\"a\":null}", 0, INLAY_FILE_ERROR_SYNTAX, "a", "an object is expected"},
    {"{\"a\":{}}", 0, INLAY_FILE_ERROR_SYNTAX, "a", "lacks dtype, shape or data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0]}}", 0, INLAY_FILE_ERROR_SYNTAX, "a", "lacks"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "lacks"},
    {"{\"a\":[\"F32\",[2,2],[0,16]]}", 16, INLAY_FILE_ERROR_SYNTAX, "a", "an object is expected"},
    /* Strings. */
    {"{\"a", 0, INLAY_FILE_ERROR_SYNTAX, "", "a string is not terminated"},
    {"{\"a\n\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a control character at byte 3"},
    {"{\"\xff\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a string is not UTF-8 at byte 2"},
    {"{\"\xc0\xaf\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xe0\x9f\xbf\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xed\xa0\x80\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xf0\x8f\xbf\xbf\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xf4\x90\x80\x80\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xf5\x80\x80\x80\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xc3\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xe2\x82\xff\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\xe2\x82\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "not UTF-8"},
    {"{\"\\u0000\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "a string has an escape that is not allowed"},
    {"{\"\\ud800\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\udc00\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\ud800\\u0041\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\ud800\\xdc00\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\ud800\\ue000\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\ud800", 0, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\u12g4\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\x41\":{" F32_4 "}}", 16, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\", 0, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    {"{\"\\u123", 0, INLAY_FILE_ERROR_SYNTAX, "", "escape"},
    /* Duplicate names and keys. */
    {"{\"a\":{" F32_4 "},\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[16,20]}}", 20,
     INLAY_FILE_ERROR_DUPLICATE, "a", "two tensors have this name"},
    {"{\"a\":{" F32_4 "},\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[16,16]}}", 16,
     INLAY_FILE_ERROR_DUPLICATE, "a", "two tensors have this name"},
    {"{\"a\":{" F32_4 ",\"dtype\":\"F32\"}}", 16, INLAY_FILE_ERROR_DUPLICATE, "a", "a key occurs twice at byte 64"},
    {"{\"a\":{" F32_4 ",\"sh\\u0061pe\":[4]}}", 16, INLAY_FILE_ERROR_DUPLICATE, "a", "twice"},
    {"{\"a\":{" F32_4 ",\"data_offsets\":[0,16]}}", 16, INLAY_FILE_ERROR_DUPLICATE, "a", "twice"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, INLAY_FILE_ERROR_DUPLICATE, "__metadata__", "twice"},
    {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, INLAY_FILE_ERROR_DUPLICATE, "k", "twice"},
    {"{\"__metadata__\":{\"\\ud83d\\ude00\":\"1\",\"\xf0\x9f\x98\x80\":\"2\"}}", 0, INLAY_FILE_ERROR_DUPLICATE, "????",
     "twice"},
    /* Metadata of other kinds than strings. */
    {"{\"__metadata__\":{\"k\":1}}", 0, INLAY_FILE_ERROR_SYNTAX, "__metadata__", "a string is expected"},
    {"{\"__metadata__\":{\"k\":null}}", 0, INLAY_FILE_ERROR_SYNTAX, "__metadata__", "a string is expected"},
    {"{\"__metadata__\":{\"k\":{}}}", 0, INLAY_FILE_ERROR_SYNTAX, "__metadata__", "a string is expected"},
    {"{\"__metadata__\":null}", 0, INLAY_FILE_ERROR_SYNTAX, "__metadata__", "an object is expected"},
    {"{\"__metadata__\":\"x\"}", 0, INLAY_FILE_ERROR_SYNTAX, "__metadata__", "an object is expected"},
    /* Depth. */
    {"{\"a\":{\"x\":[[[[]]]]}}", 0, INLAY_FILE_ERROR_LIMIT, "a", "nested too deeply"},
    {"{\"a\":{\"x\":{\"y\":{\"z\":{}}}}}", 0, INLAY_FILE_ERROR_LIMIT, "a", "nested too deeply"},
    /* Numbers. */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e0],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1E0],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-0],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[+1],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a",
     "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0x1],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "comma"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "integer"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808,0],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_LIMIT,
     "a", "above 2^63 - 1"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551617],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_LIMIT,
     "a", "above 2^63 - 1"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,99999999999999999999999]}}", 4,
     INLAY_FILE_ERROR_LIMIT, "a", "above 2^63 - 1"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "an array"},
    /* Ranges. */
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, INLAY_FILE_ERROR_SYNTAX, "a", "two numbers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8, INLAY_FILE_ERROR_LIMIT, "a", "too many"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, INLAY_FILE_ERROR_RANGE, "a", "[4, 0]"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3, INLAY_FILE_ERROR_RANGE, "a", "3 bytes"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,9223372036854775807]}}", 4, INLAY_FILE_ERROR_RANGE,
     "a", "are outside"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, INLAY_FILE_ERROR_RANGE, "a", "8 bytes"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_RANGE, "a", "4 bytes"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2147483648,2147483648,4],\"data_offsets\":[0,0]}}", 0,
     INLAY_FILE_ERROR_RANGE, "a", "overflows"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2147483648,2147483648],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_RANGE,
     "a", "overflows"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, INLAY_FILE_ERROR_RANGE, "", "end at byte"},
    {"{}", 1, INLAY_FILE_ERROR_RANGE, "", "end at byte"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
     3, INLAY_FILE_ERROR_RANGE, "b", "before byte"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
     2, INLAY_FILE_ERROR_RANGE, "b", "before byte"},
    {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
     5, INLAY_FILE_ERROR_RANGE, "b", "after byte"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}", 3, INLAY_FILE_ERROR_RANGE, "a", "after byte"},
    /* Types. */
    {"{\"a\":{\"dtype\":\"F33\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_TYPE, "a", "dtype"},
    {"{\"a\":{\"dtype\":\"f32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_TYPE, "a", "dtype"},
    {"{\"a\":{\"dtype\":\"\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_TYPE, "a", "dtype"},
    {"{\"a\":{\"dtype\":4,\"shape\":[0],\"data_offsets\":[0,0]}}", 0, INLAY_FILE_ERROR_SYNTAX, "a", "a string"},
    {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, INLAY_FILE_ERROR_RANGE, "a", "whole bytes"},
    {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, INLAY_FILE_ERROR_RANGE, "a",
     "whole bytes"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, INLAY_FILE_ERROR_LIMIT, "a",
     "too many"},
    /* Names that need escapes. */
    {"{\"\\u001b[2J\xc3\xa9\":{}}", 0, INLAY_FILE_ERROR_SYNTAX, "?[2J??", "lacks"},
};

START_TEST(broken_headers_are_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect_refused(write_blob("a.safetensors", blob_safetensors(refused[i].header, refused[i].data)),
                       refused[i].status, refused[i].name, refused[i].message);
}
END_TEST

/* Expects an error for a header of zeros [bytes] with another length. */
static void expect_length(uint64_t length, size_t bytes, inlay_file_status status, const char *message)
{
    struct blob blob = {NULL, 0, 0};
    blob_number(&blob, length, 8);
    blob_zeros(&blob, bytes);
    expect_refused(write_blob("a.safetensors", blob), status, "", message);
}

START_TEST(lengths_are_checked_first)
{
    for (size_t size = 1; size < 8; size++)
        expect_refused(write_bytes("a.safetensors", "\2\0\0\0\0\0\0", size), INLAY_FILE_ERROR_TRUNCATED, "", "shorter");
    expect_length(1, 0, INLAY_FILE_ERROR_TRUNCATED, "ends within its safetensors header");
    expect_length(33, 32, INLAY_FILE_ERROR_TRUNCATED, "ends within its safetensors header");
    expect_length(100000000, 32, INLAY_FILE_ERROR_TRUNCATED, "ends within its safetensors header");
    expect_length(100000001, 32, INLAY_FILE_ERROR_LIMIT, "longer than 100 MB");
    expect_length(UINT64_C(1) << 63, 32, INLAY_FILE_ERROR_KIND, "neither safetensors nor GGUF nor npy");
    expect_length(UINT64_MAX, 32, INLAY_FILE_ERROR_KIND, "neither");
    expect_length(UINT64_MAX - 7, 32, INLAY_FILE_ERROR_KIND, "neither");
    expect_length(0, 0, INLAY_FILE_ERROR_SYNTAX, "an object is expected");
    /* Data after the header doesn't complete its last character. */
    expect_refused(write_bytes("a.safetensors", "\3\0\0\0\0\0\0\0{\"\xc3\xa9\":", 14), INLAY_FILE_ERROR_SYNTAX, "",
                   "not UTF-8 at byte 2");
    expect_refused(write_bytes("a.safetensors", "\5\0\0\0\0\0\0\0{\"\\\0\"", 13), INLAY_FILE_ERROR_SYNTAX, "",
                   "escape");
}
END_TEST

/* A header of 1 MB is read in one pass, without memory of its size. */
START_TEST(long_headers_are_cheap)
{
    enum { LONG = 1 << 20 };
    char *header = malloc(LONG + 1);
    memset(header, '[', LONG);
    header[LONG] = '\0';
    memcpy(header, "{\"a\":{\"x\":", 10);
    expect_refused(write_blob("a.safetensors", blob_safetensors(header, 0)), INLAY_FILE_ERROR_LIMIT, "a", "deeply");
    memset(header, ' ', LONG);
    expect_refused(write_blob("a.safetensors", blob_safetensors(header, 0)), INLAY_FILE_ERROR_SYNTAX, "", "an object");
    memset(header, '7', LONG);
    memcpy(header, "{\"a\":{\"shape\":[", 15);
    expect_refused(write_blob("a.safetensors", blob_safetensors(header, 0)), INLAY_FILE_ERROR_LIMIT, "a", "2^63");
    memset(header, 'x', LONG);
    memcpy(header, "{\"", 2);
    expect_refused(write_blob("a.safetensors", blob_safetensors(header, 0)), INLAY_FILE_ERROR_SYNTAX, "",
                   "not terminated");
    /* A name of 256 KiB: the message has its beginning. */
    memset(header + (LONG >> 2), ' ', LONG - (LONG >> 2));
    memcpy(header + (LONG >> 2), "\":{}}", 5);
    expect_refused(write_blob("a.safetensors", blob_safetensors(header, 0)), INLAY_FILE_ERROR_SYNTAX, NULL,
                   "xxxxxxxxxx...: it lacks");
    free(header);
}
END_TEST

START_TEST(tensors_and_metadata_are_listed)
{
    inlay_file *file = open_good(write_blob(
        "a.safetensors",
        blob_safetensors(
            " \t\r\n{ \"__metadata__\" : { \"format\" : \"pt\" , \"\\u00e9\" : \"\\\"\\n\\ud83d\\ude00\" } ,\n"
            "\"b\":{\"shape\":[ "
            "],\"dtype\":\"F64\",\"data_offsets\":[16,24],\"shap\":0,\"shapes\":0,\"new\":[{\"x\":null},1e5]},"
            "\"a/\\u00e9\":{" F32_4 "},"
            "\"empty\":{\"dtype\":\"BF16\",\"shape\":[5,0,9223372036854775807],\"data_offsets\":[16,16]},"
            "\"four\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[24,27]}} \n",
            27)));
    EXPECT(inlay_file_tensor_count(file) == 4, "%zu tensors", inlay_file_tensor_count(file));
    static const char *const names[] = {"a/\xc3\xa9", "empty", "b", "four"};
    static const char *const types[] = {"F32", "BF16", "F64", "F4"};
    static const inlay_element_type elements[] = {INLAY_F32, INLAY_BF16, 0, 0};
    static const unsigned bytes[] = {16, 0, 8, 3}, ranks[] = {2, 3, 0, 2};
    for (size_t i = 0; i < 4; i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        EXPECT(strcmp(tensor->name, names[i]) == 0 && strcmp(tensor->type, types[i]) == 0, "%zu: %s %s", i,
               tensor->name, tensor->type);
        EXPECT(tensor->element == elements[i] && tensor->bytes == bytes[i] && tensor->rank == ranks[i], "%s",
               tensor->name);
        EXPECT(inlay_file_find_tensor(file, names[i]) == tensor, "%s is not found", names[i]);
        EXPECT(strcmp(tensor->path, path_of("a.safetensors")) == 0, "%s", tensor->path);
    }
    EXPECT(inlay_file_tensor_at(file, 4) == NULL && inlay_file_find_tensor(file, "a") == NULL &&
               inlay_file_find_tensor(file, NULL) == NULL,
           "a tensor that is not there");
    const inlay_file_value *value = inlay_file_find_value(file, "\xc3\xa9");
    EXPECT(inlay_file_value_count(file) == 2 && value == inlay_file_value_at(file, 1), "two values");
    EXPECT(value->kind == INLAY_FILE_VALUE_STRING && value->count == 6 &&
               strcmp(value->text, "\"\n\xf0\x9f\x98\x80") == 0,
           "%s", value->text);
    EXPECT(inlay_file_value_at(file, 2) == NULL && inlay_file_find_value(file, "x") == NULL, "no such value");
    inlay_file_close(file);
}
END_TEST

START_TEST(every_escape_is_decoded)
{
    inlay_file *file = open_good(
        write_blob("a.safetensors",
                   blob_safetensors(
                       "{\"__metadata__\":{\"k\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\\u0080\\u07FF\\u0800\\uffff"
                       "\\uD800\\uDC00\\uDBFF\\uDFFF\"}}",
                       0)));
    const inlay_file_value *value = inlay_file_find_value(file, "k");
    EXPECT(strcmp(value->text, "\"\\/\b\f\n\r\t\x01\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80"
                               "\xf4\x8f\xbf\xbf") == 0,
           "%s", value->text);
    inlay_file_close(file);
}
END_TEST

/* The data starts directly after the header, unaligned. */
START_TEST(unaligned_data_are_read)
{
    for (size_t spaces = 0; spaces < 16; spaces++) {
        char header[128];
        snprintf(header, sizeof header, "{\"w\":{\"dtype\":\"F32\",\"shape\":[3,5],\"data_offsets\":[0,60]}}%*s",
                 (int)spaces, "");
        struct blob blob = blob_safetensors(header, 60);
        for (size_t i = 0; i < 15; i++)
            memcpy(blob.bytes + blob.size - 60 + 4 * i, &(float){(float)i}, 4);
        inlay_file *file = open_good(write_blob("a.safetensors", blob));
        inlay_file_table table;
        float row[5];
        EXPECT(inlay_file_get_table(file, "w", &table, NULL) == INLAY_FILE_OK && table.scale == 1, "no table");
        for (size_t i = 0; i < 15; i++) {
            read_row(&table, i / 5, row);
            EXPECT(row[i % 5] == (float)i, "%zu spaces: element %zu is %g", spaces, i, (double)row[i % 5]);
        }
        inlay_file_close(file);
    }
}
END_TEST

/* Every type has its size. */
START_TEST(types_have_their_sizes)
{
    static const struct {
        const char *name;
        unsigned eighths; /* of a byte, per element */
        inlay_element_type element;
    } types[] = {
        {"BOOL", 8, 0},    {"F4", 4, 0},           {"F6_E2M3", 6, 0},        {"F6_E3M2", 6, 0},
        {"U8", 8, 0},      {"I8", 8, INLAY_I8},    {"F8_E5M2", 8, 0},        {"F8_E4M3", 8, INLAY_E4M3},
        {"F8_E8M0", 8, 0}, {"F8_E4M3FNUZ", 8, 0},  {"F8_E5M2FNUZ", 8, 0},    {"I16", 16, 0},
        {"U16", 16, 0},    {"F16", 16, INLAY_F16}, {"BF16", 16, INLAY_BF16}, {"I32", 32, 0},
        {"U32", 32, 0},    {"F32", 32, INLAY_F32}, {"C64", 64, 0},           {"F64", 64, 0},
        {"I64", 64, 0},    {"U64", 64, 0},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int wrong = -1; wrong <= 1; wrong++) {
            char header[128];
            unsigned bytes = types[i].eighths * 8 / 8 + (unsigned)wrong;
            snprintf(header, sizeof header, "{\"w\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%u]}}",
                     types[i].name, bytes);
            const char *path = write_blob("a.safetensors", blob_safetensors(header, bytes));
            if (wrong != 0) {
                expect_refused(path, INLAY_FILE_ERROR_RANGE, "w", types[i].name);
                continue;
            }
            inlay_file *file = open_good(path);
            EXPECT(inlay_file_tensor_at(file, 0)->element == types[i].element, "%s", types[i].name);
            if (types[i].element == 0 && strcmp(types[i].name, "F64") != 0)
                expect_no_table(file, "w", INLAY_FILE_ERROR_TYPE, types[i].name);
            inlay_file_close(file);
        }
}
END_TEST

START_TEST(damaged_files_do_no_harm)
{
    expect_survived(
        blob_safetensors("{\"__metadata__\":{\"k\":\"\\u00e9\"},\"b\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,32],"
                         "\"data_offsets\":[0,64]},\"b.scale\":{\"dtype\":\"F8_E8M0\",\"shape\":[2,1],\"data_offsets\":"
                         "[64,66]},\"c\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[66,78]}}",
                         78),
        0);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "safetensors", make_folder, remove_folder, broken_headers_are_refused,
                     lengths_are_checked_first, long_headers_are_cheap, tensors_and_metadata_are_listed,
                     every_escape_is_decoded, unaligned_data_are_read, types_have_their_sizes,
                     damaged_files_do_no_harm);
}
