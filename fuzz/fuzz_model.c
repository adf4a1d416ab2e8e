/* SPDX-License-Identifier: MIT */
/*
 * Bytes become a folder: a config.json beside a safetensors file, two with an index, or a GGUF file. What can be opened
 * must refuse to be an input layer, an n-gram embedding or a joined table with a message, or be one that embeds tokens
 * without reading outside of its files.
 *
 * The first byte chooses files, part and layer, the second the family; texts follow, each ended by a zero: config.json,
 * the index, headers. What is left is the bytes of tensors, repeated as often as the header says, or the GGUF file.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include <inlay/file.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_DATA = 1 << 16, MOST_DIM = 1 << 12, MOST_COLUMNS = 1 << 8, TOKENS = 3 };
enum { SAFETENSORS, GGUF, SHARDS, KINDS };

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- The folder ------------------------------------------------------------------------------------------------- */

static const char *const names[] = {"config.json",
                                    "model.gguf",
                                    "model.safetensors",
                                    "model.safetensors.index.json",
                                    "model-00001-of-00002.safetensors",
                                    "model-00002-of-00002.safetensors"};
enum { NAMES = sizeof names / sizeof *names };
static char folder[64], paths[NAMES][128];

static void delete_files(void)
{
    for (size_t i = 0; i < NAMES; i++)
        unlink(paths[i]);
}

static void delete_folder(void)
{
    delete_files();
    rmdir(folder);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/inlay-fuzz-XXXXXX");
    demand(mkdtemp(folder) != NULL, "no folder can be made");
    for (size_t i = 0; i < NAMES; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    atexit(delete_folder);
}

/* Writes up to three runs of bytes as one file. */
struct run {
    const void *bytes;
    size_t size;
};

static void write_file(const char *name, const struct run runs[3])
{
    size_t i = 0;
    while (strcmp(names[i], name) != 0)
        i++;
    FILE *file = fopen(paths[i], "wb");
    demand(file != NULL, "a file cannot be made");
    for (size_t k = 0; k < 3; k++)
        fwrite(runs[k].bytes, 1, runs[k].size, file);
    demand(fclose(file) == 0, "a file cannot be written");
}

/* Takes a text that ends at a zero, or all that is left. */
static struct run take_text(struct run *left)
{
    const char *end = left->size > 0 ? memchr(left->bytes, '\0', left->size) : NULL;
    const size_t size = end != NULL ? (size_t)(end - (const char *)left->bytes) : left->size;
    const struct run text = {left->bytes, size};
    const size_t taken = size + (end != NULL);
    left->bytes = (const char *)left->bytes + taken;
    left->size -= taken;
    return text;
}

/* Returns the last byte of data that a header announces, so that a fuzzer need not write the data. */
static size_t announced(struct run header)
{
    static const char key[] = "data_offsets\":[";
    const char *text = header.bytes;
    size_t most = 0;
    for (size_t at = 0; at + sizeof key < header.size; at++) {
        if (memcmp(text + at, key, sizeof key - 1) != 0)
            continue;
        size_t number = 0;
        for (at += sizeof key - 1; at < header.size && text[at] != ']'; at++) {
            if (text[at] == ',')
                number = 0;
            else if (text[at] >= '0' && text[at] <= '9' && number <= MOST_DATA)
                number = number * 10 + (size_t)(text[at] - '0');
        }
        most = number > most && number <= MOST_DATA ? number : most;
    }
    return most;
}

static void write_safetensors(const char *name, struct run header, struct run pattern)
{
    static unsigned char data[MOST_DATA];
    const uint64_t length = header.size;
    const size_t size = announced(header);
    for (size_t i = 0; i < size; i++)
        data[i] = pattern.size > 0 ? ((const unsigned char *)pattern.bytes)[i % pattern.size] : 0;
    write_file(name, (const struct run[]){{&length, sizeof length}, header, {data, size}});
}

static void write_model(unsigned kind, struct run left)
{
    static const unsigned char zeros[MOST_DATA];
    const struct run config = take_text(&left);
    delete_files();
    if (config.size > 0)
        write_file("config.json", (const struct run[]){config, {"", 0}, {"", 0}});
    if (kind == GGUF) {
        write_file("model.gguf", (const struct run[]){left, {zeros, sizeof zeros}, {"", 0}});
    } else if (kind == SHARDS) {
        const struct run index = take_text(&left), first = take_text(&left), second = take_text(&left);
        write_file("model.safetensors.index.json", (const struct run[]){index, {"", 0}, {"", 0}});
        write_safetensors("model-00001-of-00002.safetensors", first, left);
        write_safetensors("model-00002-of-00002.safetensors", second, left);
    } else {
        const struct run header = take_text(&left);
        write_safetensors("model.safetensors", header, left);
    }
}

/* ---- What is made of it ----------------------------------------------------------------------------------------- */

static void demand_error(inlay_file_status status, const inlay_file_error *error)
{
    demand(status > INLAY_FILE_OK && status <= INLAY_FILE_ERROR_MODEL && error->status == status, "another status");
    demand(memchr(error->message, '\0', sizeof error->message) != NULL && error->message[0] != '\0', "no message");
}

/* Embeds the first and the last ids of a layer. */
static void check_layer(const inlay_file_layer *layer)
{
    static float out[TOKENS * MOST_DIM];
    const inlay_layer_spec *spec = inlay_file_layer_spec(layer);
    demand(inlay_file_layer_report(layer)[0] != '\0', "no report");
    if (spec->tokens->dim > MOST_DIM)
        return;
    const size_t ids_end = spec->token_mapping != NULL ? spec->token_mapping_length : spec->tokens->rows;
    const int64_t ids[TOKENS] = {0, (int64_t)ids_end - 1, (int64_t)ids_end / 2};
    const int64_t segments[TOKENS] = {0, spec->segments != NULL ? (int64_t)spec->segments->rows - 1 : 0, 0};
    inlay_batch batch = inlay_batch_i64(ids, 1, TOKENS, inlay_file_layer_start(layer));
    if (spec->segments != NULL) {
        batch.segment_ids = segments;
        batch.segment_id_type = INLAY_ID_I64;
    }
    for (int last = 0; last < 2; last++) {
        inlay_status status =
            inlay_forward(inlay_file_layer_get(layer), &batch, out, MOST_DIM * sizeof *out, NULL, NULL);
        demand(status == INLAY_OK || status == INLAY_ERROR_ID || status == INLAY_ERROR_POSITION ||
                   status == INLAY_ERROR_SEGMENT,
               "a layer embeds nothing");
        if (spec->positions == NULL || spec->position_mode != INLAY_POSITION_MODE_SEQUENTIAL ||
            spec->positions->rows < TOKENS)
            break;
        batch.start = (int64_t)spec->positions->rows - TOKENS;
    }
}

static void make_layer(inlay_file *file, unsigned family, bool part)
{
    inlay_file_layer_options options = inlay_file_layer_options_default();
    inlay_file_layer *layer;
    inlay_file_error error = {0};
    options.model = family > 0 ? inlay_file_model_at(family - 1) : NULL;
    options.part = part ? "per_layer" : NULL;
    inlay_file_status status = inlay_file_layer_create(file, &options, &layer, &error);
    demand((status == INLAY_FILE_OK) == (layer != NULL), "a handle and an error");
    if (layer != NULL)
        check_layer(layer);
    else
        demand_error(status, &error);
    inlay_file_layer_destroy(layer);
}

static void make_ngram(inlay_file *file, int64_t model_layer)
{
    static float out[TOKENS * MOST_COLUMNS * 64];
    inlay_file_ngram *ngram;
    inlay_file_error error = {0};
    inlay_file_status status = inlay_file_ngram_create(file, model_layer, &ngram, &error);
    demand((status == INLAY_FILE_OK) == (ngram != NULL), "a handle and an error");
    if (ngram == NULL) {
        demand_error(status, &error);
        return;
    }
    size_t count;
    const inlay_table *tables = inlay_file_ngram_tables(ngram, &count), *list[16];
    const inlay_ngram_spec *spec = inlay_file_ngram_spec(ngram);
    const size_t token_bytes = sizeof out / TOKENS;
    for (size_t i = 0; i < count && i < 16; i++)
        list[i] = &tables[i];
    if (count <= 16 && spec->column_count * tables[0].dim * sizeof(float) <= token_bytes) {
        const int64_t ids[TOKENS] = {0, (int64_t)spec->vocab - 1, (int64_t)spec->vocab / 2};
        const inlay_ngram_batch batch = inlay_ngram_batch_i64(ids, 1, TOKENS);
        inlay_ngram_lookup lookup = inlay_ngram_lookup_default(list, count);
        lookup.scale = inlay_file_ngram_scale(ngram);
        demand(inlay_ngram_forward(inlay_file_ngram_get(ngram), &batch, &lookup, out, token_bytes, NULL, NULL) ==
                   INLAY_OK,
               "n-grams embed nothing");
    }
    demand(inlay_file_ngram_report(ngram)[0] != '\0', "no report");
    inlay_file_ngram_destroy(ngram);
}

/* Joins the tensors whose names are that of a tensor with another number. */
static void join_tables(inlay_file *file)
{
    for (size_t i = 0; i < inlay_file_tensor_count(file) && i < 4; i++) {
        const char *name = inlay_file_tensor_at(file, i)->name;
        const size_t before = strcspn(name, "0123456789"), digits = strspn(name + before, "0123456789");
        char pattern[256];
        inlay_file_table table;
        inlay_file_error error = {0};
        if (digits == 0 || strlen(name) >= sizeof pattern)
            continue;
        snprintf(pattern, sizeof pattern, "%.*s*%s", (int)before, name, name + before + digits);
        inlay_file_status status = inlay_file_table_of(file, pattern, &table, &error);
        if (status != INLAY_FILE_OK) {
            demand_error(status, &error);
        } else if (table.view.rows > 0 && table.view.dim <= MOST_DIM) {
            static float row[MOST_DIM];
            const int64_t ids[] = {0, (int64_t)table.view.rows - 1};
            for (int k = 0; k < 2; k++)
                demand(inlay_gather(&table.view, &ids[k], INLAY_ID_I64, 1, table.scale, row, sizeof row, NULL, NULL) ==
                           INLAY_OK,
                       "a joined table has no rows");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (folder[0] == '\0')
        make_folder();
    if (size < 2)
        return 0;
    const unsigned kind = data[0] % 4 % KINDS, family = data[1] % 32;
    write_model(kind, (struct run){data + 2, size - 2});
    inlay_file *file;
    inlay_file_error error = {0};
    inlay_file_status status = inlay_file_open(folder, NULL, &file, &error);
    demand((status == INLAY_FILE_OK) == (file != NULL), "a handle and an error");
    if (file == NULL) {
        demand_error(status, &error);
        return 0;
    }
    make_layer(file, family, (data[0] & 4) != 0);
    make_ngram(file, (data[0] & 8) != 0 ? 1 : -1);
    join_tables(file);
    inlay_file_close(file);
    return 0;
}
