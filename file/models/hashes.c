/* SPDX-License-Identifier: MIT */
/*
 * The kinds and searches of hashes.h. Names of Qwen4Exp are those of transformers 5.23 and, in GGUF files, of
 * llama.cpp; names of Engram are those of DeepSeek-V4.1's checkpoint and of converters to GGUF, which have no standard
 * yet.
 */
#include "models/hashes.h"

#include "models/vectors.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OF_ENGRAM(what, name)                                                                                          \
    {                                                                                                                  \
        what, NULL, {"engram." name, "engram_" name ".weight"}, "engram_" name, "engram." name                         \
    }

static const struct inlay_hash_kind kinds[] = {
    {
        .name = "qwen4_exp",
        .tables = {"ngram_embedding.weight", "ngram_embedding.shard_*.weight", "per_layer_token_embd.weight",
                   "ple_ngram_embd.*.weight"},
        .architecture = "qwen4exp",
        .arrays = {[INLAY_HASH_LAYERS] = {"layers", .gguf = "ple.layers"},
                   [INLAY_HASH_MULTIPLIERS] = {"multipliers", "layer_multipliers", .gguf = "ple.layer_multipliers"},
                   [INLAY_HASH_MODULI] = {"moduli", "ngram_heads_vocab_sizes", .gguf = "ple.head_vocab_sizes"},
                   [INLAY_HASH_OFFSETS] = {"offsets", "ngram_heads_offsets", .gguf = "ple.head_offsets"}},
        .pad_config = "eos_token_id",
        .pad_gguf = "ple.eos_token_id",
        .pad_resets = true,
    },
    {
        .name = "engram",
        .tables = {"engram.embed.weight", "engram_embd.weight"},
        .arrays = {[INLAY_HASH_LAYERS] = {"layers", .config = "engram_layer_ids", .gguf = "engram.layer_ids"},
                   [INLAY_HASH_MULTIPLIERS] = OF_ENGRAM("multipliers", "multipliers"),
                   [INLAY_HASH_MODULI] = OF_ENGRAM("primes", "primes"),
                   [INLAY_HASH_OFFSETS] = OF_ENGRAM("offsets", "offsets"),
                   [INLAY_HASH_TOKEN_MAP] = OF_ENGRAM("token map", "token_map")},
        .pad_config = "engram_pad_id",
        .pad_gguf = "engram.pad_id",
        .mask_config = "image_token_id",
    },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

/* Returns the number of the layer that a stem names last, such as 14 for "layers.14.", or -1. */
static long long layer_of(const char *stem)
{
    static const char *const words[] = {"layers.", "blk."};
    long long layer = -1;
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

bool inlay_hash_find(const struct inlay_settings *settings, long long layer, struct inlay_hash_table *table)
{
    size_t all = 0, found = 0;
    for (size_t i = 0; i < inlay_file_tensor_count(settings->file); i++) {
        struct inlay_hash_table candidate = {.slices = 1};
        if (!is_of_kind(inlay_file_tensor_at(settings->file, i), settings, &candidate))
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
        return true;
    if (all == 0)
        return inlay_file_fail(settings->error, INLAY_FILE_ERROR_MODEL, NULL, NULL,
                               "no tensor has the name of a table of n-grams");
    if (found == 0)
        return inlay_file_fail(settings->error, INLAY_FILE_ERROR_MISSING, NULL, NULL,
                               "layer %lld has no table of n-grams; %zu other layers have", layer, all);
    return inlay_file_fail(settings->error, INLAY_FILE_ERROR_MODEL, NULL, table->name,
                           "%zu layers have tables of n-grams; name one of them", found);
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* Copies the integers of a value, which must be an array of them. */
static bool copy_value(const inlay_file_value *value, struct inlay_integers *integers, inlay_file_error *error)
{
    const bool is_array = inlay_file_value_integers(value, 0, 0, NULL) == INLAY_FILE_OK;
    integers->values = is_array ? malloc(value->count > 0 ? value->count * sizeof(int64_t) : 1) : NULL;
    integers->count = value->count;
    if (is_array && integers->values == NULL)
        return inlay_file_fail_memory(error, NULL);
    if (!is_array || inlay_file_value_integers(value, 0, value->count, integers->values) != INLAY_FILE_OK)
        return inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, value->key, "it is no array of integers");
    return true;
}

/* Keeps the integers of one layer of an array [slices, ...]. */
static bool keep_slice(const char *name, const struct inlay_hash_table *table, struct inlay_integers *integers,
                       inlay_file_error *error)
{
    if (integers->count % table->slices != 0)
        return inlay_file_fail(error, INLAY_FILE_ERROR_SHAPE, NULL, name, "it has %zu integers for %zu layers",
                               integers->count, table->slices);
    integers->count /= table->slices;
    if (table->slice > 0)
        memmove(integers->values, integers->values + table->slice * integers->count, integers->count * sizeof(int64_t));
    return true;
}

static const inlay_file_tensor *tensor_beside(const inlay_file *file, const struct inlay_hash_table *table,
                                              const char *name)
{
    char full[sizeof table->stem + 64];
    snprintf(full, sizeof full, "%s%s", table->stem, name);
    return inlay_file_tensor_named(file, full);
}

bool inlay_hash_read(const struct inlay_settings *settings, const struct inlay_hash_table *table,
                     enum inlay_hash_part part, struct inlay_integers *integers, struct inlay_report *report)
{
    const struct inlay_hash_array *array = &table->kind->arrays[part];
    const inlay_file_tensor *tensor =
        array->beside != NULL ? tensor_beside(settings->file, table, array->beside) : NULL;
    const bool is_sliced = tensor == NULL && part != INLAY_HASH_LAYERS && part != INLAY_HASH_TOKEN_MAP;
    for (size_t i = 0; i < 2 && tensor == NULL && array->tensors[i] != NULL; i++)
        tensor = inlay_file_tensor_named(settings->file, array->tensors[i]);
    const inlay_file_value *value = tensor == NULL ? inlay_settings_value(settings, array->config, array->gguf) : NULL;
    *integers = (struct inlay_integers){NULL, 0};
    if (tensor == NULL && value == NULL)
        return true;
    const char *name = tensor != NULL ? tensor->name : value->key;
    if (!(tensor != NULL ? inlay_vector_integers(tensor, &integers->values, &integers->count, settings->error)
                         : copy_value(value, integers, settings->error)) ||
        (is_sliced && !keep_slice(name, table, integers, settings->error)))
        return false;
    inlay_report_line(report, "%s: %s, %zu of them", array->what, name, integers->count);
    return true;
}
