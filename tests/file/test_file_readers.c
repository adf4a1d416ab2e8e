/* SPDX-License-Identifier: MIT */
/*
 * The shared code of the parsers, the JSON parser and the catalog, called directly: tests what their headers
 * guarantee to every caller, even if no current format depends on it.
 */
#include "file/files.h"

#include "formats/catalog.h"
#include "formats/json.h"

#include <stdint.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

START_TEST(nothing_is_read_after_a_problem)
{
    static const char text[] = "0 1 true \"a\" [ { ]";
    struct inlay_text string = {NULL, 0};
    uint64_t whole = 7;
    struct inlay_number number = {.number = 7};
    for (size_t at = 0; at < sizeof text; at++) {
        struct inlay_json json;
        inlay_json_start(&json, text + at, sizeof text - 1 - at, 4);
        inlay_json_refuse(&json, INLAY_FILE_ERROR_LIMIT, "the first problem");
        EXPECT(inlay_json_peek(&json) == '\0', "peek at %zu", at);
        EXPECT(!inlay_json_open(&json, '[') && !inlay_json_open(&json, '{'), "open at %zu", at);
        EXPECT(!inlay_json_member(&json, &string) && !inlay_json_element(&json), "member at %zu", at);
        EXPECT(!inlay_json_string(&json, &string) && string.bytes == NULL, "string at %zu", at);
        EXPECT(!inlay_json_unsigned(&json, &whole) && whole == 7, "unsigned at %zu", at);
        EXPECT(!inlay_json_number(&json, &number) && number.number == 7, "number at %zu", at);
        EXPECT(!inlay_json_literal(&json) && !inlay_json_skip(&json) && !inlay_json_end(&json), "literal at %zu", at);
        EXPECT(json.status == INLAY_FILE_ERROR_LIMIT && strcmp(json.problem, "the first problem") == 0 &&
                   json.at == text + at && json.depth == 0,
               "the problem at %zu", at);
    }
}
END_TEST

/* ---- The catalog ---------------------------------------------------------------------------------------------- */

START_TEST(sizes_that_overflow_are_no_memory)
{
    struct inlay_catalog catalog = {0};
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 7, SIZE_MAX - 8, SIZE_MAX / 2, SIZE_MAX / 4 + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        EXPECT(inlay_catalog_memory(&catalog, sizes[i]) == NULL, "%zu bytes", sizes[i]);
        EXPECT(inlay_catalog_text(&catalog, (struct inlay_text){"", sizes[i]}) == NULL, "a text of %zu", sizes[i]);
    }
    EXPECT(catalog.chunks == NULL, "memory was taken");
    /* Arrays that are as long as no memory is. */
    for (size_t room = SIZE_MAX / 2; room >= SIZE_MAX / sizeof(inlay_file_value); room /= 2) {
        catalog.tensor_count = catalog.tensor_room = catalog.value_count = catalog.value_room = room;
        EXPECT(!inlay_catalog_add_tensor(&catalog, &(inlay_file_tensor){0}), "%zu tensors", room);
        EXPECT(!inlay_catalog_add_value(&catalog, &(inlay_file_value){0}), "%zu values", room);
    }
    inlay_catalog_release(&catalog);
}
END_TEST

/* Small and large pieces are aligned and apart from each other, and chunks stop doubling. */
START_TEST(pieces_of_memory)
{
    enum { PIECES = 4000 };
    static uint64_t *pieces[PIECES];
    static size_t sizes[PIECES];
    struct inlay_catalog catalog = {0};
    for (size_t i = 0; i < PIECES; i++) {
        sizes[i] = (i * 37 % 4096 / 8 + 1) * 8 - (i & 7);
        pieces[i] = inlay_catalog_memory(&catalog, sizes[i]);
        EXPECT(pieces[i] != NULL && (uintptr_t)pieces[i] % sizeof(int64_t) == 0, "piece %zu", i);
        memset(pieces[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < PIECES; i++) {
        const unsigned char *bytes = (const unsigned char *)pieces[i];
        size_t kept = 0;
        while (kept < sizes[i] && bytes[kept] == (i & 0xff))
            kept++;
        EXPECT(kept == sizes[i], "piece %zu was written by another, at byte %zu", i, kept);
    }
    inlay_catalog_release(&catalog);
    EXPECT(catalog.chunks == NULL, "memory is left");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "readers of files", NULL, NULL, nothing_is_read_after_a_problem,
                     sizes_that_overflow_are_no_memory, pieces_of_memory);
}
