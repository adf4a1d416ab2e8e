/* SPDX-License-Identifier: MIT */
/*
 * Compares row ids and histories of n-grams with golden vectors from the models' implementations, on every ISA that
 * runs here. tests/data/ngram/README.md describes the format. ngram_golden FILE... prints how many row ids were
 * compared and how many were wrong, and fails if any was.
 */
#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"

#include <inlay/inlay.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The file --------------------------------------------------------------------------------------------------- */

static FILE *file;
static const char *path;

static void bad_file(const char *what)
{
    fprintf(stderr, "%s: %s, before byte %ld\n", path, what, ftell(file));
    exit(EXIT_FAILURE);
}

static void expect_word(const char *word)
{
    char found[64];
    if (fscanf(file, "%63s", found) != 1 || strcmp(found, word) != 0)
        bad_file(word);
}

static int64_t read_number(void)
{
    int64_t number;
    if (fscanf(file, "%" SCNd64, &number) != 1)
        bad_file("a number is missing");
    return number;
}

static int64_t read_field(const char *name)
{
    expect_word(name);
    return read_number();
}

static void *array_of(size_t n, size_t bytes)
{
    void *array = calloc(n + 1, bytes);
    if (array == NULL)
        bad_file("out of memory");
    return array;
}

static int64_t *read_numbers(size_t n)
{
    int64_t *numbers = array_of(n, sizeof *numbers);
    for (size_t i = 0; i < n; i++)
        numbers[i] = read_number();
    return numbers;
}

/* Reads "NAME n value.." */
static int64_t *read_list(const char *name, size_t *n)
{
    *n = (size_t)read_field(name);
    return read_numbers(*n);
}

static uint32_t *read_map(size_t vocab)
{
    char kind[16];
    expect_word("map");
    if (fscanf(file, "%15s", kind) != 1)
        bad_file("map");
    if (strcmp(kind, "identity") == 0)
        return NULL;
    uint32_t *map = array_of(vocab, sizeof *map);
    if (strcmp(kind, "affine") == 0) {
        const uint64_t a = (uint64_t)read_number(), b = (uint64_t)read_number(), m = (uint64_t)read_number();
        for (uint64_t i = 0; i < vocab; i++)
            map[i] = (uint32_t)((a * i + b) % m);
    } else {
        for (size_t i = 0; i < vocab; i++)
            map[i] = (uint32_t)read_number();
    }
    return map;
}

static inlay_ngram_mix read_mix(void)
{
    char mix[8];
    expect_word("mix");
    if (fscanf(file, "%7s", mix) != 1)
        bad_file("mix");
    return strcmp(mix, "xor") == 0 ? INLAY_NGRAM_MIX_XOR : INLAY_NGRAM_MIX_ADD;
}

static inlay_ngram_spec read_spec(void)
{
    expect_word("inlay-ngram-golden");
    if (read_number() != 1)
        bad_file("another version");
    expect_word("source");
    if (fscanf(file, "%*[^\n]") != 0)
        bad_file("source");
    const int64_t vocab = read_field("vocab");
    const int64_t length = read_field("length");
    inlay_ngram_spec spec = inlay_ngram_spec_default((size_t)vocab, (uint32_t)length, read_mix());
    spec.pad = (uint32_t)read_field("pad");
    spec.token_map = read_map(spec.vocab);
    spec.resets = read_list("resets", &spec.reset_count);
    spec.masks = read_list("masks", &spec.mask_count);
    spec.zero_is_none = (uint32_t)read_field("none");
    spec.vectors = (size_t)read_field("vectors");
    spec.multipliers = read_numbers(spec.vectors * spec.length);
    spec.column_count = (size_t)read_field("columns");
    inlay_ngram_column *columns = array_of(spec.column_count, sizeof *columns);
    for (size_t c = 0; c < spec.column_count; c++) {
        columns[c].length = (uint32_t)read_number();
        columns[c].vector = (uint32_t)read_number();
        columns[c].modulus = (uint32_t)read_number();
        columns[c].offset = (uint64_t)read_number();
    }
    spec.columns = columns;
    return spec;
}

struct call {
    char name[64];
    size_t sequences, tokens;
    int64_t *offsets, *history, *ids, *rows, *after;
    uint32_t *lengths, *after_lengths;
};

/* Reads a history per sequence into rows of `places` ids, right-aligned. */
static int64_t *read_histories(const char *name, size_t sequences, size_t places, uint32_t **lengths)
{
    int64_t *histories = array_of(sequences * places, sizeof *histories);
    *lengths = array_of(sequences, sizeof **lengths);
    for (size_t b = 0; b < sequences; b++) {
        size_t n;
        int64_t *ids = read_list(name, &n);
        if (n > places)
            bad_file("a history is too long");
        memcpy(histories + (b + 1) * places - n, ids, n * sizeof *ids);
        (*lengths)[b] = (uint32_t)n;
        free(ids);
    }
    return histories;
}

static struct call read_call(const inlay_ngram_spec *spec)
{
    struct call call;
    expect_word("call");
    if (fscanf(file, "%63s", call.name) != 1)
        bad_file("call");
    call.sequences = (size_t)read_number();
    call.tokens = (size_t)read_number();
    expect_word("offsets");
    call.offsets = read_numbers(call.sequences + 1);
    call.history = read_histories("history", call.sequences, spec->length - 1, &call.lengths);
    expect_word("ids");
    call.ids = read_numbers(call.tokens);
    call.rows = read_numbers(call.tokens * spec->column_count);
    call.after = read_histories("after", call.sequences, spec->length - 1, &call.after_lengths);
    return call;
}

/* ---- The comparison --------------------------------------------------------------------------------------------- */

static unsigned long compared, wrong;

static void compare(const struct call *call, const char *what, int64_t found, int64_t expected)
{
    compared++;
    if (found != expected && wrong++ < 10)
        printf("%s on %s, %s: %s %" PRId64 ", not %" PRId64 "\n", path, inlay_isa(), call->name, what, found, expected);
}

/* Runs a call unchanged, and with one column at a time. */
static void check_rows(const inlay_ngram *ngram, size_t columns, const struct call *call,
                       const inlay_ngram_batch *batch)
{
    int64_t *rows = array_of(call->tokens * columns, sizeof *rows), *column = array_of(call->tokens, sizeof *column);
    if (inlay_ngram_ids(ngram, batch, 0, INLAY_NGRAM_ALL_COLUMNS, INLAY_ID_I64, rows, columns * sizeof *rows, NULL,
                        NULL) != INLAY_OK)
        wrong++;
    for (size_t i = 0; i < call->tokens * columns; i++)
        compare(call, "row", rows[i], call->rows[i]);
    for (size_t c = 0; c < columns; c++) {
        if (inlay_ngram_ids(ngram, batch, c, 1, INLAY_ID_I64, column, sizeof *column, NULL, NULL) != INLAY_OK)
            wrong++;
        for (size_t t = 0; t < call->tokens; t++)
            compare(call, "row of one column", column[t], call->rows[t * columns + c]);
    }
    free(column);
    free(rows);
}

/* Runs the rollback in place. */
static void check_history(const inlay_ngram *ngram, size_t places, const struct call *call, inlay_ngram_batch batch)
{
    const size_t n = call->sequences * places;
    int64_t *history = array_of(n, sizeof *history);
    uint32_t *lengths = array_of(call->sequences, sizeof *lengths);
    memcpy(history, call->history, n * sizeof *history);
    memcpy(lengths, call->lengths, call->sequences * sizeof *lengths);
    batch.history = history;
    batch.history_lengths = lengths;
    if (inlay_ngram_history(ngram, &batch, NULL, history, lengths, NULL) != INLAY_OK)
        wrong++;
    for (size_t b = 0; b < call->sequences; b++)
        compare(call, "length of a history", lengths[b], call->after_lengths[b]);
    for (size_t i = 0; i < n; i++)
        compare(call, "id of a history", history[i], call->after[i]);
    free(lengths);
    free(history);
}

static void check_call(const inlay_ngram *ngram, const inlay_ngram_spec *spec, const struct call *call)
{
    inlay_ngram_batch batch = inlay_ngram_batch_ragged(call->ids, INLAY_ID_I64, call->offsets, call->sequences);
    batch.history = call->history;
    batch.history_lengths = call->lengths;
    const struct inlay_kernels *kernels;
    bool runs;
    for (size_t i = 0; (kernels = inlay_dispatch_at(i, &runs)) != NULL; i++)
        if (runs) {
            inlay_dispatch_use(kernels);
            check_rows(ngram, spec->column_count, call, &batch);
            check_history(ngram, spec->length - 1, call, batch);
        }
}

static void free_call(const struct call *call)
{
    free(call->offsets);
    free(call->history);
    free(call->lengths);
    free(call->ids);
    free(call->rows);
    free(call->after);
    free(call->after_lengths);
}

static void free_spec(const inlay_ngram_spec *spec)
{
    const void *const arrays[] = {spec->token_map, spec->resets, spec->masks, spec->multipliers, spec->columns};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free((void *)(uintptr_t)arrays[i]);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        path = argv[i];
        file = fopen(path, "r");
        if (file == NULL) {
            perror(path);
            return EXIT_FAILURE;
        }
        const inlay_ngram_spec spec = read_spec();
        inlay_ngram *ngram;
        if (inlay_ngram_create(&spec, NULL, &ngram) != INLAY_OK)
            bad_file("the spec is refused");
        for (int64_t calls = read_field("calls"); calls > 0; calls--) {
            const struct call call = read_call(&spec);
            check_call(ngram, &spec, &call);
            free_call(&call);
        }
        expect_word("end");
        inlay_ngram_destroy(ngram);
        free_spec(&spec);
        fclose(file);
    }
    printf("rows %lu wrong %lu\n", compared, wrong);
    return wrong == 0 && compared > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
