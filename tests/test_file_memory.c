/* SPDX-License-Identifier: MIT */
/*
 * Every allocation of opening a model and of making its layer, table or n-grams fails once: the call must say so, leave
 * no handle, and give back what it has. The linker puts the functions below in place of malloc and its kin.
 */
#include "model_files.h"

#include <inlay/file.h>

#include <stdlib.h>

/* The allocation that fails, counted down; negative: none. What is allocated now. */
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
    return watched && countdown >= 0 && countdown-- == 0;
}

/* Counts what is new. */
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

/* ---- Models ----------------------------------------------------------------------------------------------------- */

static const unsigned char zeros[4096];
static const int64_t ones[40] = {1, 1, 1, 1, 1, 1, 1, 1};

#define WORDS "embeddings.word_embeddings.weight"
#define PLE "layers.1.ple.ple_embedding."
#define TABLE(name, type, rows, bytes)                                                                                 \
    {                                                                                                                  \
        name, type, 2, {rows, 8}, zeros, (rows)*8 * (bytes)                                                            \
    }
#define VECTOR(name, type, count, bytes, data)                                                                         \
    {                                                                                                                  \
        name, type, 1, {count}, data, (count) * (bytes)                                                                \
    }

/* Models whose layers and n-grams own what can be owned. */
static const struct {
    const char *label, *config;
    struct model_tensor tensors[8];
    bool is_ngram;
} models[] = {
    {"BERT in bfloat16", "{\"model_type\": \"bert\"}",
     .tensors = {TABLE(WORDS, "BF16", 20, 2), TABLE("embeddings.position_embeddings.weight", "BF16", 16, 2),
                 TABLE("embeddings.token_type_embeddings.weight", "BF16", 2, 2),
                 VECTOR("embeddings.LayerNorm.weight", "BF16", 8, 2, zeros),
                 VECTOR("embeddings.LayerNorm.bias", "BF16", 8, 2, zeros)}},
    {"M2M100", "{\"model_type\": \"m2m_100\"}", .tensors = {TABLE("shared.weight", "F32", 20, 4)}},
    {"model2vec", "{\"normalize\": true}",
     .tensors = {TABLE("embeddings", "I8", 20, 1), VECTOR("mapping", "I64", 30, 8, zeros),
                 VECTOR("weights", "F64", 30, 8, zeros)}},
    {"Qwen4Exp", "{\"vocab_size\": 30, \"eos_token_id\": 2}",
     .tensors = {TABLE(PLE "ngram_embedding.shard_0.weight", "F16", 20, 2),
                 TABLE(PLE "ngram_embedding.shard_1.weight", "F16", 20, 2),
                 VECTOR(PLE "layer_multipliers", "I64", 2, 8, ones),
                 VECTOR(PLE "ngram_heads_vocab_sizes", "I64", 4, 8, ones),
                 VECTOR(PLE "ngram_heads_offsets", "I64", 4, 8, zeros)},
     .is_ngram = true},
    {"Engram", "{\"engram_layer_ids\": [1], \"engram_pad_id\": 2}",
     .tensors = {TABLE("layers.1.engram.embed.weight", "F16", 20, 2), VECTOR("engram.token_map", "I64", 30, 8, zeros),
                 VECTOR("engram.multipliers", "I64", 2, 8, ones), VECTOR("engram.primes", "I64", 4, 8, ones)},
     .is_ngram = true},
};

/* Opens a model and makes its layer or n-grams, and undoes it. */
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

START_TEST(allocations_fail)
{
    struct model model = {models[_i].tensors, 0, models[_i].config, NULL};
    while (model.count < 8 && model.tensors[model.count].name != NULL)
        model.count++;
    const char *path = model_write(&model);
    inlay_init();
    inlay_file_status status;
    long allocations = 0;
    do {
        inlay_file_error error = {0};
        live = 0;
        countdown = allocations++;
        watched = true;
        status = use(path, models[_i].is_ngram, &error);
        watched = false;
        EXPECT(live == 0, "%s: %ld allocations are left after one failed: %ld", models[_i].label, live, allocations);
        bool reached = countdown < 0;
        EXPECT(status == (reached ? INLAY_FILE_ERROR_NO_MEMORY : INLAY_FILE_OK) && error.status == status,
               "%s: allocation %ld failed: %s: %s", models[_i].label, allocations, inlay_file_status_string(status),
               error.message);
    } while (status != INLAY_FILE_OK);
    EXPECT(allocations > 10, "%s: %ld allocations", models[_i].label, allocations);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("memory of files");
    TCase *tests = tcase_create("allocations");
    tcase_add_unchecked_fixture(tests, model_folder_make, model_folder_delete);
    tcase_add_loop_test(tests, allocations_fail, 0, sizeof models / sizeof *models);
    suite_add_tcase(suite, tests);
    return run_suite(argc, argv, suite);
}
