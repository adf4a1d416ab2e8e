/* SPDX-License-Identifier: MIT */
/*
 * Turns bytes into a model folder: config.json with one safetensors file, two with an index, or a GGUF file. If it
 * opens, making an input layer, an n-gram embedding or a joined table must fail with a message, or the result must
 * embed tokens without reading outside its files.
 *
 * The first byte chooses files, part, layer and prefix, the second the family. Zero-terminated texts follow:
 * config.json, the index, and lines of tensors for each safetensors file. The remaining bytes are the tensors' data,
 * repeated, or the GGUF file.
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

enum { MAX_DATA = 1 << 16, MAX_DIM = 1 << 12, MAX_COLUMNS = 1 << 8, TOKENS = 3 };
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

/* Writes up to three runs of bytes to one file. */
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

/* Takes a zero-terminated text, or everything left. */
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

/* The tensors of a safetensors file. */
struct listing {
    char header[1 << 13];
    size_t used, data; /* bytes so far */
};

static size_t type_bytes(const char *type)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"F64", 8}, {"I64", 8}, {"F16", 2}, {"BF16", 2}, {"I8", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            return types[i].bytes;
    return 4;
}

/* Adds the tensor on a line: name, type and sizes, separated by spaces. Its bytes match its shape, which a fuzzer would
   hardly find; fuzz_safetensors.c covers arbitrary headers. */
static void add_tensor(struct listing *listing, struct run line)
{
    char name[128], type[16], sizes[4][16], shape[72] = "";
    char text[256];
    if (line.size >= sizeof text)
        return;
    memcpy(text, line.bytes, line.size);
    text[line.size] = '\0';
    const int found =
        sscanf(text, "%127s %15s %15s %15s %15s %15s", name, type, sizes[0], sizes[1], sizes[2], sizes[3]);
    if (found < 2)
        return;
    size_t bytes = type_bytes(type), used = 0;
    for (int i = 0; i + 2 < found; i++) {
        const unsigned long size = strtoul(sizes[i], NULL, 10);
        bytes = size <= MAX_DATA && bytes <= MAX_DATA ? bytes * size : MAX_DATA + 1;
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lu", i > 0 ? "," : "", size % 10000000);
    }
    const size_t room = sizeof listing->header - listing->used;
    if (room < sizeof text + sizeof shape + 64 || bytes > MAX_DATA - listing->data)
        return;
    listing->used += (size_t)snprintf(
        listing->header + listing->used, room, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
        listing->used > 0 ? ',' : '{', name, type, shape, listing->data, listing->data + bytes);
    listing->data += bytes;
}

static void write_safetensors(const char *name, struct run lines, struct run pattern)
{
    static unsigned char data[MAX_DATA];
    static struct listing listing;
    listing.used = listing.data = 0;
    while (lines.size > 0) {
        const char *end = memchr(lines.bytes, '\n', lines.size);
        const size_t size = end != NULL ? (size_t)(end - (const char *)lines.bytes) : lines.size;
        add_tensor(&listing, (struct run){lines.bytes, size});
        lines.bytes = (const char *)lines.bytes + size + (end != NULL);
        lines.size -= size + (end != NULL);
    }
    if (listing.used == 0)
        listing.header[listing.used++] = '{';
    listing.header[listing.used++] = '}';
    for (size_t i = 0; i < listing.data; i++)
        data[i] = pattern.size > 0 ? ((const unsigned char *)pattern.bytes)[i % pattern.size] : 0;
    const uint64_t length = listing.used;
    write_file(name, (const struct run[]){{&length, sizeof length}, {listing.header, length}, {data, listing.data}});
}

static void write_model(unsigned kind, struct run left)
{
    static const unsigned char zeros[MAX_DATA];
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
        const struct run lines = take_text(&left);
        write_safetensors("model.safetensors", lines, left);
    }
}

/* ---- Layers, n-grams and tables --------------------------------------------------------------------------------- */

static void demand_error(inlay_file_status status, const inlay_file_error *error)
{
    demand(status > INLAY_FILE_OK && status <= INLAY_FILE_ERROR_MODEL && error->status == status, "another status");
    demand(memchr(error->message, '\0', sizeof error->message) != NULL && error->message[0] != '\0', "no message");
}

/* Demands that an array that starts in a tensor ends in it, since reads past a tensor stay in the mapping up to the end
   of its page. Sanitizers check arrays on the heap. */
static void demand_inside(inlay_file *file, const void *array, size_t bytes)
{
    const uintptr_t at = (uintptr_t)array;
    for (size_t i = 0; i < inlay_file_tensor_count(file); i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        const uintptr_t begin = (uintptr_t)tensor->data;
        if (at >= begin && at < begin + tensor->bytes)
            demand(bytes <= begin + tensor->bytes - at, "an array is longer than its tensor");
    }
}

static void demand_table_inside(inlay_file *file, const inlay_table *table)
{
    if (table != NULL && table->extents == NULL)
        demand_inside(file, table->data, table->rows * table->stride_bytes);
}

static void demand_layer_inside(inlay_file *file, const inlay_layer_spec *spec)
{
    const size_t norm_bytes = spec->tokens->dim * sizeof(float);
    demand_table_inside(file, spec->tokens);
    demand_table_inside(file, spec->positions);
    demand_table_inside(file, spec->segments);
    demand_inside(file, spec->gamma, norm_bytes);
    demand_inside(file, spec->beta, norm_bytes);
    demand_inside(file, spec->token_mapping,
                  spec->token_mapping_length * (spec->token_mapping_type == INLAY_ID_I64 ? 8 : 4));
    demand_inside(file, spec->token_weights, spec->token_weights_length * sizeof(float));
}

/* Embeds the first, last and middle ids of a layer, at the first and last positions. */
static void check_layer(inlay_file *file, const inlay_file_layer *layer)
{
    static float out[TOKENS * MAX_DIM];
    const inlay_layer_spec *spec = inlay_file_layer_spec(layer);
    demand(inlay_file_layer_report(layer)[0] != '\0', "no report");
    demand_layer_inside(file, spec);
    if (spec->tokens->dim > MAX_DIM)
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
            inlay_forward(inlay_file_layer_get(layer), &batch, out, MAX_DIM * sizeof *out, NULL, NULL);
        demand(status == INLAY_OK || status == INLAY_ERROR_ID || status == INLAY_ERROR_POSITION ||
                   status == INLAY_ERROR_SEGMENT,
               "a layer embeds nothing");
        if (spec->positions == NULL || spec->position_mode != INLAY_POSITION_MODE_SEQUENTIAL ||
            spec->positions->rows < TOKENS)
            break;
        batch.start = (int64_t)spec->positions->rows - TOKENS;
    }
}

static void make_layer(inlay_file *file, unsigned family, bool part, bool prefix)
{
    inlay_file_layer_options options = inlay_file_layer_options_default();
    inlay_file_layer *layer;
    inlay_file_error error = {0};
    options.model = family > 0 ? inlay_file_model_at(family - 1) : NULL;
    options.part = part ? "per_layer" : NULL;
    options.prefix = prefix ? "a." : NULL;
    inlay_file_status status = inlay_file_layer_create(file, &options, &layer, &error);
    demand((status == INLAY_FILE_OK) == (layer != NULL), "a handle and an error");
    if (layer != NULL)
        check_layer(file, layer);
    else
        demand_error(status, &error);
    inlay_file_layer_destroy(layer);
}

static void make_ngram(inlay_file *file, int64_t model_layer)
{
    static float out[TOKENS * MAX_COLUMNS * 64];
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

/* Joins tensors whose names differ only in a number. */
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
        inlay_file_status status = inlay_file_get_table(file, pattern, &table, &error);
        if (status != INLAY_FILE_OK) {
            demand_error(status, &error);
        } else if (table.view.rows > 0 && table.view.dim <= MAX_DIM) {
            static float row[MAX_DIM];
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
    make_layer(file, family, (data[0] & 4) != 0, (data[0] & 64) != 0);
    make_ngram(file, (data[0] & 8) != 0 ? 1 : -1);
    join_tables(file);
    inlay_file_close(file);
    return 0;
}
