/* SPDX-License-Identifier: MIT */
/*
 * Makes every allocation fail once while opening a file of each format and making layers and n-grams: the call must
 * report it, return no handle, and free everything. The linker replaces malloc and free by the functions below.
 */
#include "file/model_files.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations before the one that fails (negative: none), and live allocations. */
static long countdown = -1, live;
static bool watched;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static bool fails(void)
{
    if (!watched || countdown < 0)
        return false;
    countdown--;
    return countdown < 0;
}

/* Counts a new allocation. */
static void *counted(void *memory)
{
    live += watched && memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (fails())
        return NULL;
    return memory == NULL ? counted(__real_malloc(bytes)) : __real_realloc(memory, bytes);
}

void __wrap_free(void *memory)
{
    live -= watched && memory != NULL;
    __real_free(memory);
}

/* The allocations of libinlay are not replaced, so this one fails as a whole. */
inlay_status __real_inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator,
                                       inlay_layer **layer);
inlay_status __wrap_inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator,
                                       inlay_layer **layer);

inlay_status __wrap_inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator,
                                       inlay_layer **layer)
{
    *layer = NULL;
    return fails() ? INLAY_ERROR_NO_MEMORY : __real_inlay_layer_create(spec, allocator, layer);
}

/* ---- Models ----------------------------------------------------------------------------------------------------- */

static const unsigned char zeros[4096];
static const int64_t ones[40] = {1, 1, 1, 1, 1, 1, 1, 1};

#define WORDS "embeddings.word_embeddings.weight"
#define PLE "layers.1.ple.ple_embedding."
#define TABLE(name, type, rows, bytes) name, type, 2, {rows, 8}, zeros, (rows)*8 * (bytes)
#define VECTOR(name, type, count, bytes, data) name, type, 1, {count}, data, (count) * (bytes)

/* Models whose layers and n-grams own memory of every kind. */
static const struct {
    const char *label, *config;
    struct model_tensor tensors[8];
    bool is_ngram;
} models[] = {
    {"BERT in bfloat16", "{\"model_type\": \"bert\"}",
     .tensors = {{TABLE(WORDS, "BF16", 20, 2)},
                 {TABLE("embeddings.position_embeddings.weight", "BF16", 16, 2)},
                 {TABLE("embeddings.token_type_embeddings.weight", "BF16", 2, 2)},
                 {VECTOR("embeddings.LayerNorm.weight", "BF16", 8, 2, zeros)},
                 {VECTOR("embeddings.LayerNorm.bias", "BF16", 8, 2, zeros)}}},
    {"M2M100", "{\"model_type\": \"m2m_100\"}", .tensors = {{TABLE("shared.weight", "F32", 20, 4)}}},
    {"model2vec", "{\"normalize\": true}",
     .tensors = {{TABLE("embeddings", "I8", 20, 1)},
                 {VECTOR("mapping", "I64", 30, 8, zeros)},
                 {VECTOR("weights", "F64", 30, 8, zeros)}}},
    {"Qwen4Exp", "{\"vocab_size\": 30, \"eos_token_id\": 2}",
     .tensors = {{TABLE(PLE "ngram_embedding.shard_0.weight", "F16", 20, 2)},
                 {TABLE(PLE "ngram_embedding.shard_1.weight", "F16", 20, 2)},
                 {VECTOR(PLE "layer_multipliers", "I64", 2, 8, ones)},
                 {VECTOR(PLE "ngram_heads_vocab_sizes", "I64", 4, 8, ones)},
                 {VECTOR(PLE "ngram_heads_offsets", "I64", 4, 8, zeros)}},
     .is_ngram = true},
    {"Engram", "{\"engram_layer_ids\": [1], \"engram_pad_id\": 2}",
     .tensors = {{TABLE("layers.1.engram.embed.weight", "F16", 20, 2)},
                 {VECTOR("engram.token_map", "I64", 30, 8, zeros)},
                 {VECTOR("engram.multipliers", "I64", 2, 8, ones)},
                 {VECTOR("engram.primes", "I64", 4, 8, ones)}},
     .is_ngram = true},
};

/* Opens a file. */
static inlay_file_status open_file(const char *path, inlay_file_error *error)
{
    inlay_file *file = (inlay_file *)path;
    inlay_file_status status = inlay_file_open(path, NULL, &file, error);
    if (status != INLAY_FILE_OK)
        return file == NULL ? status : INLAY_FILE_OK;
    inlay_file_close(file);
    return status;
}

/* Opens a model, makes its layer or n-grams, and destroys them. */
static inlay_file_status use(const char *path, bool is_ngram, inlay_file_error *error)
{
    inlay_file *file = (inlay_file *)path;
    inlay_file_layer *layer = (inlay_file_layer *)path;
    inlay_file_ngram *ngram = (inlay_file_ngram *)path;
    inlay_file_status status = inlay_file_open(path, NULL, &file, error);
    if (status != INLAY_FILE_OK)
        return file == NULL ? status : INLAY_FILE_OK;
    status = is_ngram ? inlay_file_ngram_create(file, -1, &ngram, error)
                      : inlay_file_layer_create(file, NULL, &layer, error);
    if (status != INLAY_FILE_OK && (is_ngram ? (void *)ngram : (void *)layer) != NULL)
        status = INLAY_FILE_OK;
    else if (status == INLAY_FILE_OK && is_ngram)
        inlay_file_ngram_destroy(ngram);
    else if (status == INLAY_FILE_OK)
        inlay_file_layer_destroy(layer);
    inlay_file_close(file);
    return status;
}

static inlay_file_status use_layer(const char *path, inlay_file_error *error)
{
    return use(path, false, error);
}

static inlay_file_status use_ngram(const char *path, inlay_file_error *error)
{
    return use(path, true, error);
}

/* Calls a function repeatedly; each time a later allocation fails. Once none fails, it must return that status. Returns
   the number of allocations. */
static long expect_failures(const char *label, const char *path,
                            inlay_file_status (*function)(const char *path, inlay_file_error *error),
                            inlay_file_status last)
{
    inlay_file_status status;
    long allocations = 0;
    do {
        inlay_file_error error = {0};
        live = 0;
        countdown = allocations++;
        watched = true;
        status = function(path, &error);
        watched = false;
        EXPECT(live == 0, "%s: %ld allocations are left after one failed: %ld", label, live, allocations);
        bool reached = countdown < 0;
        EXPECT(status == (reached ? INLAY_FILE_ERROR_NO_MEMORY : last) && error.status == status,
               "%s: allocation %ld failed: %s: %s", label, allocations, inlay_file_status_string(status),
               error.message);
    } while (status == INLAY_FILE_ERROR_NO_MEMORY);
    return allocations - 1;
}

START_TEST(allocations_of_models_fail)
{
    const struct model model = {models[_i].tensors, models[_i].config, NULL, NULL};
    const char *path = model_write(&model);
    inlay_init();
    long allocations =
        expect_failures(models[_i].label, path, models[_i].is_ngram ? use_ngram : use_layer, INLAY_FILE_OK);
    EXPECT(allocations >= 10, "%s: %ld allocations", models[_i].label, allocations);
}
END_TEST

/* ---- Formats ---------------------------------------------------------------------------------------------------- */

/* Short strings share a chunk of 16 KiB; a long one and the next one take a chunk each. Each file has the long one at
   one place after the other. An array of as many bytes has LONG_ARRAY elements of 8. */
enum { LONG = 40000, LONG_ARRAY = LONG / 8 };

/* Returns the text of a place: a long one if that is the place. */
static const char *text_at(int place, int long_place, const char *usual)
{
    static char text[LONG + 1];
    if (place != long_place)
        return usual;
    memset(text, 'x', LONG);
    return text;
}

/* Writes a text made by printf in the folder. */
static const char *write_format(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

static const char *write_format(const char *name, const char *format, ...)
{
    static char text[4 * LONG];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return write_text(name, text);
}

static const char *make_safetensors(int place)
{
    static char header[4 * LONG]; /* gcc sees that three texts could be long */
    snprintf(header, sizeof header,
             "{\"__metadata__\":{\"%s\":\"%s\"},\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
             text_at(0, place, "key"), text_at(1, place, "text"), text_at(2, place, "w"));
    return write_blob("a.safetensors", blob_safetensors(header, 1));
}

static const char *make_gguf(int place)
{
    enum { U8 = 0, STRING = 8, ARRAY = 9 };
    const int strings = place == 3 ? LONG_ARRAY : 1, numbers = place == 4 ? LONG_ARRAY : 1;
    struct blob blob = blob_gguf(1, 3);
    blob_value(&blob, text_at(0, place, "key"), STRING);
    blob_string(&blob, text_at(1, place, "text"));
    blob_value(&blob, "strings", ARRAY);
    blob_number(&blob, STRING, 4);
    blob_number(&blob, (uint64_t)strings, 8);
    for (int i = 0; i < strings; i++)
        blob_string(&blob, text_at(2, place, ""));
    blob_value(&blob, "numbers", ARRAY);
    blob_number(&blob, U8, 4);
    blob_number(&blob, (uint64_t)numbers, 8);
    blob_zeros(&blob, (size_t)numbers);
    blob_tensor(&blob, text_at(5, place, "w"), 1, (uint64_t[]){8}, 0, 0);
    blob_data(&blob, 32, 32);
    return write_blob("a.gguf", blob);
}

static const char *make_npy(int place)
{
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    (void)place;
    struct blob blob = {NULL, 0, 0};
    blob_add(&blob, "\x93NUMPY\x01", 8);
    blob_number(&blob, sizeof header - 1, 2);
    blob_add(&blob, header, sizeof header - 1);
    blob_zeros(&blob, 24);
    return write_blob("a.npy", blob);
}

/* An index by place: one tensor with a long name (0) or in a file with a long name (1), two in two such files (2), many
   tensors in one file (3), or in many files (4). Of the last, only the first file exists, next to one with all tensors.
 */
static const char *make_index(int place)
{
    enum { MANY = 800 };
    static char header[3 * LONG], map[3 * LONG], numbers[MANY + 1][12];
    const int tensors = place >= 3 ? MANY : place == 2 ? 2 : 1;
    size_t header_size = 0, map_size = 0;
    for (int i = 0; i < tensors; i++) {
        const char *name = text_at(0, place, "w"), *comma = i > 0 ? "," : "";
        header_size += (size_t)snprintf(header + header_size, sizeof header - header_size,
                                        "%s\"%s%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}", comma,
                                        name, i, i, i + 1);
        map_size += (size_t)snprintf(map + map_size, sizeof map - map_size, "%s\"%s%d\":\"%s%s\"", comma, name, i,
                                     place == 2 ? text_at(2, 2, "") : text_at(1, place, "a.safetensors"),
                                     place == 2 && i > 0   ? "x"
                                     : place == 4 && i > 0 ? numbers[i]
                                                           : "");
        sprintf(numbers[i + 1], "%d", i);
    }
    memmove(header + 1, header, header_size + 1);
    header[0] = '{';
    strcat(header, "}");
    write_blob(place == 4 ? "all.safetensors" : "a.safetensors", blob_safetensors(header, (size_t)tensors));
    if (place == 4)
        write_blob("a.safetensors",
                   blob_safetensors("{\"w0\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1));
    return write_format("a.index.json", "{\"weight_map\":{%s}}", map);
}

/* A folder with a config.json: a long text (0), an array of one (1) or of integers (2), or objects whose keys fill one
   chunk after the other, at two alignments (3, 4). From place 5 on, unsupported arrays alternate with objects, and a
   place is the length of their keys: some chunk ends before each kind of allocation. */
enum { CONFIGS = 21 };

static const char *make_config(int place)
{
    enum { KEY = 1000, OBJECTS = 40, SHORT_KEYS = 1400 };
    static char objects[OBJECTS * (KEY + 16)];
    make_safetensors(-1);
    switch (place) {
    case 0:
        write_format("config.json", "{\"a\":\"%s\",\"b\":1}", text_at(0, 0, ""));
        break;
    case 1:
        write_format("config.json", "{\"a\":[\"%s\"],\"b\":1}", text_at(0, 0, ""));
        break;
    case 2:
        for (size_t i = 0; i < 2 * LONG_ARRAY; i++)
            objects[i] = i % 2 == 0 ? '1' : ',';
        objects[2 * LONG_ARRAY - 1] = '\0';
        write_format("config.json", "{\"a\":[%s]}", objects);
        break;
    case -1:
    case 3:
    case 4:
        objects[0] = '\0';
        for (int i = 0; i < OBJECTS; i++)
            sprintf(objects + strlen(objects), "%s\"%0*d\":%s", i > 0 ? "," : "", KEY, i,
                    i == 0 && place == 4 ? "0" : "{}");
        write_format("config.json", "{%s}", objects);
        break;
    default:
        for (int i = 0, at = 0; i < SHORT_KEYS; i++)
            at += sprintf(objects + at, "%s\"%0*d\":%s", i > 0 ? "," : "", place, i, i % 2 == 0 ? "[[]]" : "{}");
        write_format("config.json", "{%s}", objects);
    }
    return path_of("");
}

static const struct {
    const char *label;
    const char *(*make)(int place); /* writes a file with the long part at a place; -1: none */
    int places;
    unsigned missing; /* a set of bits 1 << place: places where a named file is missing */
} formats[] = {
    {"safetensors", make_safetensors, 3, 0},     {"GGUF", make_gguf, 6, 0},           {"npy", make_npy, 0, 0},
    {"index", make_index, 5, 1u << 1 | 1u << 2}, {"config", make_config, CONFIGS, 0},
};

START_TEST(allocations_of_formats_fail)
{
    for (int place = -1; place < formats[_i].places; place++) {
        const char *path = formats[_i].make(place);
        long allocations = expect_failures(
            formats[_i].label, path, open_file,
            place >= 0 && (formats[_i].missing & 1u << place) != 0 ? INLAY_FILE_ERROR_SYSTEM : INLAY_FILE_OK);
        EXPECT(allocations >= 3, "%s: %ld allocations", formats[_i].label, allocations);
        remove_folder();
        make_folder();
    }
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("memory of files");
    TCase *tests = tcase_create("allocations");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_loop_test(tests, allocations_of_models_fail, 0, sizeof models / sizeof *models);
    tcase_add_loop_test(tests, allocations_of_formats_fail, 0, sizeof formats / sizeof *formats);
    suite_add_tcase(suite, tests);
    return run_suite(argc, argv, suite);
}
