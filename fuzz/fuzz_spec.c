/* SPDX-License-Identifier: MIT */
/*
 * Parses bytes as the texts the tool reads: a list of ids, numbers, and an n-gram spec in JSON. An accepted list must
 * have as many ids as words. An accepted spec must make an n-gram handle or be refused by the library with a status.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp */

#include "inputs/ids.h"
#include "inputs/numbers.h"
#include "ngram/spec.h"
#include "text/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_ids(const char *text, size_t size)
{
    struct id_lists lists = {0};
    int outcome = id_lists_add(&lists, "--ids", NULL, text, size);
    size_t words = 0;
    for (size_t i = 0; i < size; i++) {
        const bool separates = memchr(" ,\t\n\r", text[i], 5) != NULL;
        words += !separates && (i == 0 || memchr(" ,\t\n\r", text[i - 1], 5) != NULL);
    }
    demand(outcome == DONE || outcome == MISUSED, "another outcome of ids");
    demand(outcome != DONE || id_list_length(&lists, 0) == words, "ids are not as many as words");
    free(lists.offsets);
    free(lists.ids);
}

/* Parses a text as numbers, for sanitizers only: nothing else defines the results. */
static void check_numbers(const char *text, size_t size)
{
    int64_t integer;
    double number;
    float single;
    number_int64(text, size, &integer);
    number_double(text, size, &number);
    char *string = malloc(size + 1);
    if (string == NULL)
        return;
    memcpy(string, text, size);
    string[size] = '\0';
    number_float(string, &single);
    free(string);
}

static void check_spec(const char *path)
{
    struct ngram_spec spec = {0};
    int outcome = ngram_spec_read(path, &spec);
    demand(outcome == DONE || outcome == FAILED, "another outcome of a spec");
    if (outcome == DONE && !spec.map_required) {
        inlay_ngram *ngram;
        inlay_status status = inlay_ngram_create(&spec.spec, NULL, &ngram);
        demand((status == INLAY_OK) == (ngram != NULL), "a handle and an error");
        for (size_t c = 0; c < spec.spec.column_count; c++)
            demand(spec.spec.columns[c].table < spec.tables, "a column of a table that is not counted");
        inlay_ngram_destroy(ngram);
    }
    for (size_t i = 0; i < spec.memory_count; i++)
        free(spec.memory[i]);
}

static char path[] = "/tmp/inlay-fuzz-XXXXXX";
static int file = -1;

static void delete_file(void)
{
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    if (file < 0) {
        file = mkstemp(path);
        demand(file >= 0, "no file can be made");
        atexit(delete_file);
    }
    check_ids(text, size);
    check_numbers(text, size);
    demand(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size, "the file cannot be written");
    check_spec(path);
    return 0;
}
