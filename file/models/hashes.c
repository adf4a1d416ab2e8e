/* SPDX-License-Identifier: MIT */
/*
 * The kinds and searches of hashes.h. Names of Qwen4Exp are those of transformers 5.23 and, in GGUF files, of
 * llama.cpp; names of Engram are those of DeepSeek-V4.1's checkpoint and of converters to GGUF, which have no standard
 * yet.
 */
#include "models/hashes.h"

#include "models/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct inlay_hash_kind kinds[] = {
    {
        .name = "qwen4_exp",
        .tables = {"ngram_embedding.weight", "ngram_embedding.shard_*.weight", "per_layer_token_embd.weight",
                   "ple_ngram_embd.*.weight"},
        .architecture = "qwen4exp",
        .layers = {"layers", NULL, {NULL}, NULL, "ple.layers"},
        .multipliers = {"multipliers", "layer_multipliers", {NULL}, NULL, "ple.layer_multipliers"},
        .moduli = {"moduli", "ngram_heads_vocab_sizes", {NULL}, NULL, "ple.head_vocab_sizes"},
        .offsets = {"offsets", "ngram_heads_offsets", {NULL}, NULL, "ple.head_offsets"},
        .pad_config = "eos_token_id",
        .pad_gguf = "ple.eos_token_id",
        .pad_resets = true,
    },
    {
        .name = "engram",
        .tables = {"engram.embed.weight", "engram_embd.weight"},
        .layers = {"layers", NULL, {NULL}, "engram_layer_ids", "engram.layer_ids"},
        .multipliers = {"multipliers",
                        NULL,
                        {"engram.multipliers", "engram_multipliers.weight"},
                        "engram_multipliers",
                        "engram.multipliers"},
        .moduli = {"primes", NULL, {"engram.primes", "engram_primes.weight"}, "engram_primes", "engram.primes"},
        .offsets = {"offsets", NULL, {"engram.offsets", "engram_offsets.weight"}, "engram_offsets", "engram.offsets"},
        .token_map = {"token map",
                      NULL,
                      {"engram.token_map", "engram_token_map.weight"},
                      "engram_token_map",
                      "engram.token_map"},
        .has_map = true,
        .pad_config = "engram_pad_id",
        .pad_gguf = "engram.pad_id",
        .mask_config = "image_token_id",
    },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

/* Returns the number of the layer that a stem names last, such as 14 for "layers.14.", or -1. */
static int64_t layer_of(const char *stem)
{
    static const char *const words[] = {"layers.", "blk."};
    int64_t layer = -1;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (const char *at = strstr(stem, words[w]); at != NULL; at = strstr(at + 1, words[w])) {
            const char *digits = at + strlen(words[w]);
            size_t count = strspn(digits, "0123456789");
            if (count > 0 && count < 10 && digits[count] == '.')
                layer = strtoll(digits, NULL, 10);
        }
    return layer;
}

/* Fills in `table` if a tensor is the table, or the first of its tensors, that ends in the name `end`. */
static bool is_table(const char *tensor, const char *end, struct inlay_hash_table *table)
{
    char first[64];
    const char *star = strchr(end, '*');
    int before = star != NULL ? (int)(star - end) : (int)strlen(end);
    snprintf(first, sizeof first, "%.*s%s%s", before, end, star != NULL ? "0" : "", star != NULL ? star + 1 : "");
    if (!inlay_ends_in(tensor, first))
        return false;
    size_t stem = strlen(tensor) - strlen(first);
    if (stem + strlen(end) >= sizeof table->name || (stem > 0 && tensor[stem - 1] != '.'))
        return false;
    snprintf(table->stem, sizeof table->stem, "%.*s", (int)stem, tensor);
    snprintf(table->name, sizeof table->name, "%s%s", table->stem, end);
    table->layer = layer_of(table->stem);
    return true;
}

/* Returns whether a tensor is a table of some kind. One without a stem is one only in files of its architecture. */
static bool is_of_kind(const inlay_file_tensor *tensor, const struct inlay_settings *settings,
                       struct inlay_hash_table *table)
{
    for (size_t k = 0; k < KINDS; k++)
        for (const char *const *end = kinds[k].tables; *end != NULL; end++) {
            if (!is_table(tensor->name, *end, table))
                continue;
            const char *only = kinds[k].architecture;
            table->kind = &kinds[k];
            return table->stem[0] != '\0' ||
                   (only != NULL && settings->architecture != NULL && strcmp(only, settings->architecture) == 0);
        }
    return false;
}

inlay_file_status inlay_hash_find(const inlay_file *file, int64_t layer, struct inlay_hash_table *table,
                                  inlay_file_error *error)
{
    const struct inlay_settings settings = inlay_settings_of(file);
    size_t all = 0, found = 0;
    for (size_t i = 0; i < inlay_file_tensor_count(file); i++) {
        struct inlay_hash_table candidate;
        if (!is_of_kind(inlay_file_tensor_at(file, i), &settings, &candidate))
            continue;
        all++;
        if (layer >= 0 && candidate.layer >= 0 && candidate.layer != layer)
            continue;
        *table = candidate;
        found++;
    }
    if (found == 1 && table->layer < 0)
        table->layer = layer;
    if (found == 1)
        return INLAY_FILE_OK;
    if (all == 0)
        return inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(NULL),
                               "no tensor has the name of a table of n-grams");
    if (found == 0)
        return inlay_file_fail(error, INLAY_FILE_ERROR_MISSING, NULL, inlay_text_of(NULL),
                               "layer %lld has no table of n-grams; %zu other layers have", (long long)layer, all);
    return inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(table->name),
                           "%zu layers have tables of n-grams; name one of them", found);
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* Copies the integers of a value, which must be an array of them. */
static inlay_file_status copy_value(const inlay_file_value *value, struct inlay_integers *integers,
                                    inlay_file_error *error)
{
    inlay_file_status status = inlay_file_value_integers(value, 0, 0, NULL);
    if (status == INLAY_FILE_OK) {
        integers->values = malloc(value->count > 0 ? value->count * sizeof(int64_t) : 1);
        if (integers->values == NULL)
            return inlay_file_fail_memory(error, NULL);
        integers->count = value->count;
        status = inlay_file_value_integers(value, 0, value->count, integers->values);
    }
    return status == INLAY_FILE_OK ? status
                                   : inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(value->key),
                                                     "it is no array of integers");
}

/* Keeps the integers of one layer of an array [slices, ...]. */
static inlay_file_status keep_slice(const char *name, size_t slice, size_t slices, struct inlay_integers *integers,
                                    inlay_file_error *error)
{
    if (integers->count % slices != 0)
        return inlay_file_fail(error, INLAY_FILE_ERROR_SHAPE, NULL, inlay_text_of(name),
                               "it has %zu integers for %zu layers", integers->count, slices);
    integers->count /= slices;
    if (slice > 0)
        memmove(integers->values, integers->values + slice * integers->count, integers->count * sizeof(int64_t));
    return INLAY_FILE_OK;
}

static const inlay_file_tensor *tensor_beside(const inlay_file *file, const struct inlay_hash_table *table,
                                              const char *name)
{
    char full[sizeof table->stem + 64];
    snprintf(full, sizeof full, "%s%s", table->stem, name);
    return inlay_file_tensor_named(file, full);
}

inlay_file_status inlay_hash_read(const struct inlay_settings *settings, const struct inlay_hash_table *table,
                                  const struct inlay_hash_array *array, size_t slice, size_t slices,
                                  struct inlay_integers *integers, struct inlay_report *report, inlay_file_error *error)
{
    *integers = (struct inlay_integers){NULL, 0};
    const inlay_file_tensor *tensor = NULL;
    if (array->beside != NULL)
        tensor = tensor_beside(settings->file, table, array->beside);
    bool is_of_layer = tensor != NULL;
    for (size_t i = 0; i < 2 && tensor == NULL && array->tensors[i] != NULL; i++)
        tensor = inlay_file_tensor_named(settings->file, array->tensors[i]);
    const inlay_file_value *value = tensor == NULL ? inlay_settings_value(settings, array->config, array->gguf) : NULL;
    if (tensor == NULL && value == NULL)
        return INLAY_FILE_OK;
    const char *name = tensor != NULL ? tensor->name : value->key;
    inlay_file_status status = tensor != NULL
                                   ? inlay_vector_integers(tensor, &integers->values, &integers->count, error)
                                   : copy_value(value, integers, error);
    if (status == INLAY_FILE_OK && !is_of_layer)
        status = keep_slice(name, slice, slices, integers, error);
    if (status == INLAY_FILE_OK)
        inlay_report_line(report, "%s: %s, %zu of them", array->what, name, integers->count);
    return status;
}
