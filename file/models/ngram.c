/* SPDX-License-Identifier: MIT */
/*
 * Hashed n-gram embeddings of checkpoints. The names of each kind's parts are data: tensors next to the table, tensors
 * or metadata of the whole model, keys of config.json. All numbers of a file are checked against the rows of its table.
 * Names of Qwen4Exp follow transformers 5.24 and, in GGUF files, llama.cpp. Names of Engram follow DeepSeek-V4.1's
 * checkpoint and converters to GGUF, which have no standard yet.
 */
#include "handle.h"
#include "models/report.h"
#include "models/settings.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arrays of a hash. The first and the last belong to the whole model, the others to a layer. */
enum part { LAYERS, MULTIPLIERS, MODULI, OFFSETS, TOKEN_MAP, PARTS };

/* The possible locations of an array. Null: no such location. */
struct array {
    const char *what;          /* for reports and messages; null: the kind has no such array */
    const char *tensor;        /* a tensor of the layer, after the stem of the table's name */
    const char *tensors[2];    /* tensors of the whole model, [layers, ...] */
    const char *config, *gguf; /* keys of the whole model, [layers, ...] */
};

#define OF_ENGRAM(what, name)                                                                                          \
    {                                                                                                                  \
        what, NULL, {"engram." name, "engram_" name ".weight"}, "engram_" name, "engram." name                         \
    }

/* A kind of n-gram embedding. */
static const struct kind {
    const char *name;
    const char *tables[5];    /* ends of the names of tables, with one * where several tensors hold the rows */
    const char *architecture; /* general.architecture of files with one table, without a stem in its name */
    struct array arrays[PARTS];
    struct inlay_key pad, mask; /* the id that replaces blocked places, and the ids that block; -1: none */
    bool pad_resets;            /* the pad also ends a text */
} kinds[] = {
    {
        .name = "qwen4_exp",
        .tables = {"ngram_embedding.weight", "ngram_embedding.shard_*.weight", "per_layer_token_embd.weight",
                   "ple_ngram_embd.*.weight"},
        .architecture = "qwen4exp",
        .arrays = {[LAYERS] = {"layers", .gguf = "ple.layers"},
                   [MULTIPLIERS] = {"multipliers", "layer_multipliers", .gguf = "ple.layer_multipliers"},
                   [MODULI] = {"moduli", "ngram_heads_vocab_sizes", .gguf = "ple.head_vocab_sizes"},
                   [OFFSETS] = {"offsets", "ngram_heads_offsets", .gguf = "ple.head_offsets"}},
        .pad = {"eos_token_id", "ple.eos_token_id", .otherwise = -1, .may_be_null = true},
        .mask = {NULL, NULL, .otherwise = -1},
        .pad_resets = true,
    },
    {
        .name = "engram",
        .tables = {"engram.embed.weight", "engram_embd.weight"},
        .arrays = {[LAYERS] = {"layers", .config = "engram_layer_ids", .gguf = "engram.layer_ids"},
                   [MULTIPLIERS] = OF_ENGRAM("multipliers", "multipliers"),
                   [MODULI] = OF_ENGRAM("primes", "primes"),
                   [OFFSETS] = OF_ENGRAM("offsets", "offsets"),
                   [TOKEN_MAP] = OF_ENGRAM("token map", "token_map")},
        .pad = {"engram_pad_id", "engram.pad_id", .otherwise = -1, .may_be_null = true},
        .mask = {"image_token_id", NULL, .otherwise = -1, .may_be_null = true},
    },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct integers {
    int64_t *values;
    size_t count;
};

struct inlay_file_ngram {
    inlay_ngram *ngram;
    inlay_ngram_spec spec;         /* over the following arrays and ids */
    struct integers arrays[PARTS]; /* in the file; absent if `values` is null */
    uint32_t *token_map;           /* of the hash, null: ids themselves */
    inlay_ngram_column *columns;
    int64_t pad, mask;
    inlay_file_table table;
    struct inlay_report report;
};

/* The table of a layer. */
struct found {
    const struct kind *kind;
    char name[256];  /* of its tensor, or a pattern for inlay_file_get_table() */
    char stem[256];  /* of the names next to it */
    long long layer; /* -1: no number is known */
};

/* An embedding under construction. */
struct builder {
    struct inlay_settings settings;
    inlay_file_error *error;
    struct found found;
    size_t slice, slices; /* index of the layer in arrays of the whole model, and their number of layers */
    inlay_file_ngram *ngram;
};

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

/* Returns the last layer number in a stem, such as 14 for "layers.14.", or -1. */
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

/* Fills in `found` if a tensor is the table, or the first of its tensors, that ends in the name `end`. */
static bool is_table(const char *tensor, const char *end, struct found *found)
{
    char first[64];
    const char *star = strchr(end, '*');
    int before = star != NULL ? (int)(star - end) : (int)strlen(end);
    snprintf(first, sizeof first, "%.*s%s%s", before, end, star != NULL ? "0" : "", star != NULL ? star + 1 : "");
    if (!inlay_ends_in(tensor, first))
        return false;
    size_t stem = strlen(tensor) - strlen(first);
    if (stem + strlen(end) >= sizeof found->name || (stem > 0 && tensor[stem - 1] != '.'))
        return false;
    snprintf(found->stem, sizeof found->stem, "%.*s", (int)stem, tensor);
    snprintf(found->name, sizeof found->name, "%s%s", found->stem, end);
    found->layer = layer_of(found->stem);
    return true;
}

/* Returns true if a tensor is a table of some kind. One without a stem only counts in files of its architecture. */
static bool is_of_kind(const inlay_file_tensor *tensor, const struct inlay_settings *settings, struct found *found)
{
    for (size_t k = 0; k < KINDS; k++)
        for (const char *const *end = kinds[k].tables; *end != NULL; end++) {
            if (!is_table(tensor->name, *end, found))
                continue;
            const char *only = kinds[k].architecture;
            found->kind = &kinds[k];
            return found->stem[0] != '\0' ||
                   (only != NULL && settings->architecture != NULL && strcmp(only, settings->architecture) == 0);
        }
    return false;
}

/* Finds the table of a layer, or the only one if layer is -1. */
static bool find_table(struct builder *builder, long long layer)
{
    const struct inlay_settings *settings = &builder->settings;
    struct found *found = &builder->found;
    size_t all = 0, fitting = 0;
    for (size_t i = 0; i < settings->file->catalog.name_count; i++) {
        struct found candidate;
        if (!is_of_kind(settings->file->catalog.by_name[i], settings, &candidate))
            continue;
        all++;
        if (layer >= 0 && candidate.layer >= 0 && candidate.layer != layer)
            continue;
        *found = candidate;
        fitting++;
    }
    if (all == 0)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, NULL,
                               "no tensor is named like an n-gram table");
    if (fitting == 0)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, NULL,
                               "layer %lld has no n-gram table; %zu other layers do", layer, all);
    if (fitting > 1)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, found->name,
                               "%zu layers have n-gram tables: choose one of them", fitting);
    if (found->layer < 0)
        found->layer = layer;
    return true;
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

static bool fail_missing(const struct builder *builder, const char *what, const char *name)
{
    return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, name, "the files lack the %s of the n-grams",
                           what);
}

/* Returns the name of an array for a message; a missing one is named by its expected location. */
static const char *name_of(const struct builder *builder, enum part part)
{
    const struct array *array = &builder->found.kind->arrays[part];
    return array->tensor != NULL ? array->tensor : array->gguf;
}

/* Returns the tensor of an array next to the table, or null. */
static const inlay_file_tensor *tensor_of_layer(const struct builder *builder, const char *name)
{
    char full[sizeof builder->found.stem + 64];
    snprintf(full, sizeof full, "%s%s", builder->found.stem, name);
    return inlay_catalog_tensor(&builder->settings.file->catalog, full);
}

/* Returns the elements of a tensor as a metadata value; its kind is 0 unless they are integers. */
static inlay_file_value value_of(const inlay_file_tensor *tensor)
{
    static const struct {
        const char *type;
        inlay_file_value_kind kind;
        size_t bytes;
    } types[] = {{"I32", INLAY_FILE_VALUE_ARRAY_I32, 4},
                 {"U32", INLAY_FILE_VALUE_ARRAY_U32, 4},
                 {"I64", INLAY_FILE_VALUE_ARRAY_I64, 8},
                 {"U64", INLAY_FILE_VALUE_ARRAY_U64, 8}};
    inlay_file_value value = {.key = tensor->name, .text = tensor->data};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(tensor->type, types[i].type) == 0) {
            value.kind = types[i].kind;
            value.count = (size_t)tensor->bytes / types[i].bytes;
        }
    return value;
}

/* Reads and reports the integers of an array; arrays of the whole model have a slice per layer. Reads none if the file
   has none. */
static bool read_array(struct builder *builder, enum part part)
{
    const struct array *array = &builder->found.kind->arrays[part];
    struct integers *integers = &builder->ngram->arrays[part];
    const inlay_file *file = builder->settings.file;
    const inlay_file_tensor *tensor = array->tensor != NULL ? tensor_of_layer(builder, array->tensor) : NULL;
    const bool is_sliced = tensor == NULL && part != LAYERS && part != TOKEN_MAP;
    const size_t slices = is_sliced ? builder->slices : 1;
    for (size_t i = 0; i < 2 && tensor == NULL; i++)
        tensor = inlay_catalog_tensor(&file->catalog, array->tensors[i]);
    const inlay_file_value *named = inlay_settings_value(&builder->settings, array->config, array->gguf);
    if (tensor == NULL && named == NULL)
        return true;
    if (tensor != NULL && !inlay_catalog_check(tensor, builder->error))
        return false;
    const inlay_file_value value = tensor != NULL ? value_of(tensor) : *named;
    integers->count = value.count / slices;
    integers->values = malloc(integers->count * sizeof *integers->values + 1);
    if (integers->values == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    const size_t first = is_sliced ? builder->slice * integers->count : 0;
    const bool are_read = inlay_file_value_integers(&value, first, integers->count, integers->values) == INLAY_FILE_OK;
    if (!are_read && tensor != NULL)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_TYPE, tensor->path, tensor->name,
                               "its elements are %s, not integers (I32, I64, U32, U64) below 2^63", tensor->type);
    if (!are_read)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, value.key,
                               "it is not an array of integers");
    if (value.count % slices != 0)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, value.key,
                               "it has %zu integers for %zu layers", value.count, slices);
    inlay_report_line(&builder->ngram->report, "%s: %s, %zu of them", array->what, value.key, integers->count);
    return true;
}

/* Finds the index of the layer in arrays of the whole model, and their number of layers. */
static bool find_slice(struct builder *builder)
{
    struct found *found = &builder->found;
    const struct integers *layers = &builder->ngram->arrays[LAYERS];
    builder->slices = 1;
    if (!read_array(builder, LAYERS))
        return false;
    if (layers->count == 0)
        return true;
    builder->slices = layers->count;
    if (found->layer < 0 && layers->count == 1)
        found->layer = layers->values[0];
    while (builder->slice < layers->count && layers->values[builder->slice] != found->layer)
        builder->slice++;
    if (builder->slice == layers->count)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, found->name,
                               "the metadata does not list its layer among those with n-grams");
    return true;
}

static bool read_arrays(struct builder *builder)
{
    if (!find_slice(builder))
        return false;
    for (enum part part = MULTIPLIERS; part < PARTS; part++) {
        const char *what = builder->found.kind->arrays[part].what;
        if (!read_array(builder, part))
            return false;
        if (builder->ngram->arrays[part].values == NULL && part != OFFSETS && what != NULL)
            return fail_missing(builder, what, name_of(builder, part));
    }
    return true;
}

/* ---- The spec --------------------------------------------------------------------------------------------------- */

/* Starts the spec with the number of ids: the length of the token map, else the vocabulary of the model. */
static bool begin_spec(struct builder *builder)
{
    static const struct inlay_key key = {"vocab_size", "vocab_size", -1, .may_be_null = true};
    const long long most = INT64_C(1) << 31;
    struct inlay_setting setting;
    if (!inlay_settings_find(&builder->settings, INLAY_SETTING_INTEGER, &key, &setting))
        return false;
    const inlay_file_value *tokens = inlay_file_find_value(builder->settings.file, "tokenizer.ggml.tokens");
    const struct integers *arrays = builder->ngram->arrays;
    if (arrays[TOKEN_MAP].values != NULL)
        setting = (struct inlay_setting){0, (long long)arrays[TOKEN_MAP].count, "token map"};
    else if (setting.key == NULL && tokens != NULL && tokens->kind == INLAY_FILE_VALUE_STRINGS)
        setting = (struct inlay_setting){0, (long long)tokens->count, tokens->key};
    if (setting.key == NULL)
        return fail_missing(builder, "ids", "vocab_size");
    if (setting.integer < 1 || setting.integer > most)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, setting.key,
                               "a vocabulary of %lld ids has no n-grams", setting.integer);
    inlay_report_line(&builder->ngram->report, "vocabulary: ids below %lld (%s)", setting.integer, setting.key);
    builder->ngram->spec =
        inlay_ngram_spec_default((size_t)setting.integer, (uint32_t)arrays[MULTIPLIERS].count, INLAY_NGRAM_MIX_XOR);
    return true;
}

/* Finds the id that a key has, or -1. */
static bool find_id(struct builder *builder, const char *what, const struct inlay_key *key, int64_t *id)
{
    struct inlay_setting setting;
    if (!inlay_settings_find(&builder->settings, INLAY_SETTING_INTEGER, key, &setting))
        return false;
    *id = setting.integer;
    if (setting.key == NULL)
        return true;
    if (setting.integer < 0 || (uint64_t)setting.integer >= builder->ngram->spec.vocab)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, setting.key,
                               "id %lld must be below the vocabulary size, %zu", setting.integer,
                               builder->ngram->spec.vocab);
    inlay_report_line(&builder->ngram->report, "%s: id %lld (%s)", what, setting.integer, setting.key);
    return true;
}

static bool make_token_map(struct builder *builder)
{
    const struct integers *map = &builder->ngram->arrays[TOKEN_MAP];
    if (map->values == NULL)
        return true;
    builder->ngram->token_map = malloc(map->count * sizeof *builder->ngram->token_map + 1);
    if (builder->ngram->token_map == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    for (size_t i = 0; i < map->count; i++) {
        if (map->values[i] < 0 || map->values[i] > UINT32_MAX)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_RANGE, NULL, name_of(builder, TOKEN_MAP),
                                   "id %zu maps to %lld, which does not fit in uint32", i, (long long)map->values[i]);
        builder->ngram->token_map[i] = (uint32_t)map->values[i];
    }
    builder->ngram->spec.token_map = builder->ngram->token_map;
    return true;
}

/* Sets pad, resets and masks. */
static bool make_blocks(struct builder *builder)
{
    const struct kind *kind = builder->found.kind;
    inlay_file_ngram *ngram = builder->ngram;
    inlay_ngram_spec *spec = &ngram->spec;
    const char *pad = kind->pad_resets ? "pad, and end of texts" : "pad";
    if (!find_id(builder, pad, &kind->pad, &ngram->pad) || !find_id(builder, "mask", &kind->mask, &ngram->mask))
        return false;
    if (ngram->pad < 0)
        return fail_missing(builder, pad, kind->pad.config);
    spec->pad = spec->token_map != NULL ? spec->token_map[ngram->pad] : (uint32_t)ngram->pad;
    spec->resets = &ngram->pad;
    spec->reset_count = kind->pad_resets;
    spec->masks = &ngram->mask;
    spec->mask_count = ngram->mask >= 0;
    return true;
}

/* Makes the columns: lengths from 2 on, as many columns of each. */
static bool make_columns(struct builder *builder)
{
    const struct integers *moduli = &builder->ngram->arrays[MODULI];
    const struct integers *offsets = &builder->ngram->arrays[OFFSETS];
    const size_t length = builder->ngram->arrays[MULTIPLIERS].count, count = moduli->count;
    if (length < 2 || length > INLAY_NGRAM_MAX_LENGTH || count == 0 || count > INLAY_NGRAM_MAX_COLUMNS ||
        count % (length - 1) != 0)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, name_of(builder, MODULI),
                               "%zu columns do not match n-grams with %zu multipliers", count, length);
    if (offsets->values != NULL && offsets->count != count)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, name_of(builder, OFFSETS),
                               "there are %zu offsets for %zu columns", offsets->count, count);
    builder->ngram->columns = calloc(count, sizeof *builder->ngram->columns);
    if (builder->ngram->columns == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    const long long rows = (long long)builder->ngram->table.view.rows;
    long long sum = 0; /* of the moduli before, at most rows */
    for (size_t c = 0; c < count; c++) {
        const long long modulus = moduli->values[c];
        const long long offset = offsets->values != NULL ? offsets->values[c] : sum;
        if (modulus < 1 || modulus > UINT32_MAX || offset < 0 || offset > rows || modulus > rows - offset)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_RANGE, NULL, builder->found.name,
                                   "column %zu has offset %lld and modulus %lld, but the table has %lld rows", c,
                                   offset, modulus, rows);
        builder->ngram->columns[c] = (inlay_ngram_column){.length = (uint32_t)(2 + c / (count / (length - 1))),
                                                          .modulus = (uint32_t)modulus,
                                                          .offset = (uint64_t)offset};
        sum = offset + modulus;
    }
    inlay_report_line(&builder->ngram->report, "columns: %zu of each length from 2 to %zu%s", count / (length - 1),
                      length, offsets->values == NULL ? ", one after the other" : "");
    return true;
}

static bool build(struct builder *builder, long long layer)
{
    if (!find_table(builder, layer))
        return false;
    inlay_file_ngram *ngram = builder->ngram = calloc(1, sizeof *ngram);
    if (ngram == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    const char *name = builder->found.name;
    inlay_report_line(&ngram->report, "model: %s", builder->found.kind->name);
    inlay_report_choice(&ngram->report, builder->settings.file);
    if (inlay_file_get_table(builder->settings.file, name, &ngram->table, builder->error) != INLAY_FILE_OK)
        return false;
    const inlay_table *view = &ngram->table.view;
    inlay_report_line(&ngram->report, "table: %s [%zu, %zu] in %zu tensors", name, view->rows, view->dim,
                      view->extent_count > 0 ? view->extent_count : 1);
    if (ngram->table.scale != 1)
        inlay_report_line(&ngram->report, "scale of the table: %.9g", (double)ngram->table.scale);
    if (!read_arrays(builder) || !begin_spec(builder) || !make_token_map(builder) || !make_blocks(builder) ||
        !make_columns(builder))
        return false;
    ngram->spec.multipliers = ngram->arrays[MULTIPLIERS].values;
    ngram->spec.vectors = 1;
    ngram->spec.columns = ngram->columns;
    ngram->spec.column_count = ngram->arrays[MODULI].count;
    inlay_status made = inlay_ngram_create(&ngram->spec, NULL, &ngram->ngram);
    if (made == INLAY_ERROR_NO_MEMORY)
        return inlay_file_fail_memory(builder->error, NULL);
    if (made != INLAY_OK)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, name, "%s", inlay_status_string(made));
    return true;
}

/* ---- The handle ------------------------------------------------------------------------------------------------- */

inlay_file_status inlay_file_ngram_create(inlay_file *file, int64_t model_layer, inlay_file_ngram **ngram,
                                          inlay_file_error *error)
{
    inlay_file_error unwanted;
    struct builder builder = {.error = error != NULL ? error : &unwanted};
    if (ngram != NULL)
        *ngram = NULL;
    if (file == NULL || ngram == NULL || model_layer < -1) {
        inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, NULL, "%s",
                        inlay_file_status_string(INLAY_FILE_ERROR_ARGUMENT));
        return INLAY_FILE_ERROR_ARGUMENT;
    }
    builder.settings = inlay_settings_of(file, builder.error);
    inlay_settings_enter(&builder.settings, NULL);
    if (!build(&builder, model_layer)) {
        inlay_file_ngram_destroy(builder.ngram);
        return builder.error->status;
    }
    *ngram = builder.ngram;
    return INLAY_FILE_OK;
}

void inlay_file_ngram_destroy(inlay_file_ngram *ngram)
{
    if (ngram == NULL)
        return;
    inlay_ngram_destroy(ngram->ngram);
    free(ngram->columns);
    free(ngram->token_map);
    for (size_t part = 0; part < PARTS; part++)
        free(ngram->arrays[part].values);
    free(ngram);
}

const inlay_ngram *inlay_file_ngram_get(const inlay_file_ngram *ngram)
{
    return ngram->ngram;
}

const inlay_ngram_spec *inlay_file_ngram_spec(const inlay_file_ngram *ngram)
{
    return &ngram->spec;
}

const inlay_table *inlay_file_ngram_tables(const inlay_file_ngram *ngram, size_t *count)
{
    *count = 1;
    return &ngram->table.view;
}

float inlay_file_ngram_scale(const inlay_file_ngram *ngram)
{
    return ngram->table.scale;
}

const char *inlay_file_ngram_report(const inlay_file_ngram *ngram)
{
    return ngram->report.text;
}
