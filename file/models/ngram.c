/* SPDX-License-Identifier: MIT */
/*
 * N-grams of checkpoints: what hashes.h finds of a layer becomes the spec of ngram.h. Everything that a file says is
 * checked against the rows of its table, which bound the hashes.
 */
#include "models/hashes.h"

#include <stdlib.h>

struct inlay_file_ngram {
    inlay_ngram *ngram;
    inlay_ngram_spec spec; /* over the following arrays and ids */
    uint32_t *token_map;   /* of the hash, null: ids themselves */
    int64_t *multipliers;
    inlay_ngram_column *columns;
    int64_t pad, mask;
    inlay_file_table table;
    struct inlay_report report;
};

/* An embedding that is being made. */
struct builder {
    inlay_file *file;
    struct inlay_settings settings;
    struct inlay_hash_table found;
    struct inlay_integers layers, multipliers, moduli, offsets, token_map;
    inlay_file_ngram *ngram;
    inlay_file_error *error;
};

static inlay_file_status fail_missing(const struct builder *builder, const char *what, const char *name)
{
    return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, inlay_text_of(name),
                           "the %s of the n-grams are not in the files", what);
}

/* Names an array for a message: one that is not there, by where it would be. */
static const char *name_of(const struct inlay_hash_array *array)
{
    return array->beside != NULL ? array->beside : array->gguf;
}

static inlay_file_status read_array(struct builder *builder, const struct inlay_hash_array *array, size_t slice,
                                    size_t slices, bool must, struct inlay_integers *integers)
{
    inlay_file_status status = inlay_hash_read(&builder->settings, &builder->found, array, slice, slices, integers,
                                               &builder->ngram->report, builder->error);
    if (status == INLAY_FILE_OK && must && integers->values == NULL)
        return fail_missing(builder, array->what, name_of(array));
    return status;
}

/* Finds which of the layers in arrays of the whole model the layer is, and their number. */
static inlay_file_status find_slice(struct builder *builder, size_t *slice, size_t *slices)
{
    inlay_file_status status = read_array(builder, &builder->found.kind->layers, 0, 1, false, &builder->layers);
    const struct inlay_integers *layers = &builder->layers;
    *slice = 0;
    *slices = 1;
    if (status != INLAY_FILE_OK || layers->count == 0)
        return status;
    *slices = layers->count;
    if (builder->found.layer < 0 && layers->count == 1)
        builder->found.layer = layers->values[0];
    for (size_t i = 0; i < layers->count; i++)
        if (layers->values[i] == builder->found.layer) {
            *slice = i;
            return INLAY_FILE_OK;
        }
    return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(builder->found.name),
                           "its layer is not one of the layers with n-grams that the metadata list");
}

static inlay_file_status read_arrays(struct builder *builder)
{
    const struct inlay_hash_kind *kind = builder->found.kind;
    size_t slice, slices;
    inlay_file_status status = find_slice(builder, &slice, &slices);
    if (status == INLAY_FILE_OK)
        status = read_array(builder, &kind->multipliers, slice, slices, true, &builder->multipliers);
    if (status == INLAY_FILE_OK)
        status = read_array(builder, &kind->moduli, slice, slices, true, &builder->moduli);
    if (status == INLAY_FILE_OK)
        status = read_array(builder, &kind->offsets, slice, slices, false, &builder->offsets);
    if (status == INLAY_FILE_OK && kind->has_map)
        status = read_array(builder, &kind->token_map, 0, 1, true, &builder->token_map);
    return status;
}

/* ---- The spec --------------------------------------------------------------------------------------------------- */

/* Finds the number of ids: those of the map, else the vocabulary of the model. */
static inlay_file_status find_vocab(struct builder *builder, size_t *vocab)
{
    const int64_t most = INT64_C(1) << 31;
    struct inlay_setting setting;
    inlay_file_status status =
        inlay_settings_integer(&builder->settings, "vocab_size", "vocab_size", -1, &setting, builder->error);
    if (status != INLAY_FILE_OK)
        return status;
    const inlay_file_value *tokens = inlay_file_value_named(builder->file, "tokenizer.ggml.tokens");
    if (builder->token_map.values != NULL)
        setting = (struct inlay_setting){0, (int64_t)builder->token_map.count, "token map"};
    else if (setting.key == NULL && tokens != NULL && tokens->kind == INLAY_FILE_VALUE_STRINGS)
        setting = (struct inlay_setting){0, (int64_t)tokens->count, tokens->key};
    if (setting.key == NULL)
        return fail_missing(builder, "ids", "vocab_size");
    if (setting.integer < 1 || setting.integer > most)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(setting.key),
                               "a vocabulary of %lld ids has no n-grams", (long long)setting.integer);
    *vocab = (size_t)setting.integer;
    inlay_report_line(&builder->ngram->report, "vocabulary: ids below %zu (%s)", *vocab, setting.key);
    return INLAY_FILE_OK;
}

/* Finds an id that a key names. *id stays where there is no key and it is not needed. */
static inlay_file_status find_id(struct builder *builder, const char *what, const char *config, const char *gguf,
                                 bool must, int64_t *id)
{
    struct inlay_setting setting;
    inlay_file_status status = inlay_settings_integer(&builder->settings, config, gguf, *id, &setting, builder->error);
    if (status != INLAY_FILE_OK || (setting.key == NULL && !must))
        return status;
    if (setting.key == NULL)
        return fail_missing(builder, what, config);
    if (setting.integer < 0 || (uint64_t)setting.integer >= builder->ngram->spec.vocab)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(setting.key),
                               "the id %lld is not below the %zu of the vocabulary", (long long)setting.integer,
                               builder->ngram->spec.vocab);
    *id = setting.integer;
    inlay_report_line(&builder->ngram->report, "%s: id %lld (%s)", what, (long long)*id, setting.key);
    return INLAY_FILE_OK;
}

static inlay_file_status make_token_map(struct builder *builder)
{
    const struct inlay_integers *map = &builder->token_map;
    if (map->values == NULL)
        return INLAY_FILE_OK;
    builder->ngram->token_map = malloc(map->count * sizeof *builder->ngram->token_map + 1);
    if (builder->ngram->token_map == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    for (size_t i = 0; i < map->count; i++) {
        if (map->values[i] < 0 || map->values[i] > UINT32_MAX)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_RANGE, NULL,
                                   inlay_text_of(name_of(&builder->found.kind->token_map)),
                                   "the number of id %zu is %lld", i, (long long)map->values[i]);
        builder->ngram->token_map[i] = (uint32_t)map->values[i];
    }
    builder->ngram->spec.token_map = builder->ngram->token_map;
    return INLAY_FILE_OK;
}

/* Sets pad, resets and masks. */
static inlay_file_status make_blocks(struct builder *builder)
{
    const struct inlay_hash_kind *kind = builder->found.kind;
    inlay_ngram_spec *spec = &builder->ngram->spec;
    inlay_file_status status = find_id(builder, kind->pad_resets ? "pad, and end of texts" : "pad", kind->pad_config,
                                       kind->pad_gguf, true, &builder->ngram->pad);
    builder->ngram->mask = -1;
    if (status == INLAY_FILE_OK && kind->mask_config != NULL)
        status = find_id(builder, "mask", kind->mask_config, NULL, false, &builder->ngram->mask);
    if (status != INLAY_FILE_OK)
        return status;
    spec->pad = spec->token_map != NULL ? spec->token_map[builder->ngram->pad] : (uint32_t)builder->ngram->pad;
    spec->resets = &builder->ngram->pad;
    spec->reset_count = kind->pad_resets;
    spec->masks = &builder->ngram->mask;
    spec->mask_count = builder->ngram->mask >= 0;
    return INLAY_FILE_OK;
}

/* Makes the columns: lengths from 2 on, as many columns of each. */
static inlay_file_status make_columns(struct builder *builder)
{
    const size_t length = builder->multipliers.count, count = builder->moduli.count;
    const struct inlay_hash_kind *kind = builder->found.kind;
    if (length < 2 || length > INLAY_NGRAM_LENGTH_MOST || count == 0 || count > INLAY_NGRAM_COLUMNS_MOST ||
        count % (length - 1) != 0)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, inlay_text_of(name_of(&kind->moduli)),
                               "%zu columns do not suit n-grams of %zu multipliers", count, length);
    if (builder->offsets.values != NULL && builder->offsets.count != count)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, inlay_text_of(name_of(&kind->offsets)),
                               "there are %zu offsets for %zu columns", builder->offsets.count, count);
    builder->ngram->columns = calloc(count, sizeof *builder->ngram->columns);
    if (builder->ngram->columns == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    const int64_t rows = (int64_t)builder->ngram->table.view.rows;
    int64_t sum = 0; /* of the moduli before, at most rows */
    for (size_t c = 0; c < count; c++) {
        const int64_t modulus = builder->moduli.values[c];
        const int64_t offset = builder->offsets.values != NULL ? builder->offsets.values[c] : sum;
        if (modulus < 1 || modulus > UINT32_MAX || offset < 0 || offset > rows || modulus > rows - offset)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_RANGE, NULL, inlay_text_of(builder->found.name),
                                   "column %zu has offset %lld and modulus %lld, and the table has %lld rows", c,
                                   (long long)offset, (long long)modulus, (long long)rows);
        builder->ngram->columns[c] = (inlay_ngram_column){.length = (uint32_t)(2 + c / (count / (length - 1))),
                                                          .modulus = (uint32_t)modulus,
                                                          .offset = (uint64_t)offset};
        sum = offset + modulus;
    }
    inlay_report_line(&builder->ngram->report, "columns: %zu of each length from 2 to %zu%s", count / (length - 1),
                      length, builder->offsets.values == NULL ? ", one behind the other" : "");
    return INLAY_FILE_OK;
}

static inlay_file_status build(struct builder *builder)
{
    inlay_file_ngram *ngram = builder->ngram;
    inlay_report_line(&ngram->report, "model: %s", builder->found.kind->name);
    inlay_file_status status = inlay_file_table_of(builder->file, builder->found.name, &ngram->table, builder->error);
    if (status != INLAY_FILE_OK)
        return status;
    const inlay_table *view = &ngram->table.view;
    inlay_report_line(&ngram->report, "table: %s [%zu, %zu] in %zu tensors", builder->found.name, view->rows, view->dim,
                      view->extent_count > 0 ? view->extent_count : 1);
    if (ngram->table.scale != 1)
        inlay_report_line(&ngram->report, "scale of the table: %.9g", (double)ngram->table.scale);
    status = read_arrays(builder);
    size_t vocab = 1;
    if (status == INLAY_FILE_OK)
        status = find_vocab(builder, &vocab);
    ngram->spec = inlay_ngram_spec_default(vocab, (uint32_t)builder->multipliers.count, INLAY_NGRAM_MIX_XOR);
    static inlay_file_status (*const steps[])(struct builder *) = {make_token_map, make_blocks, make_columns};
    for (size_t i = 0; status == INLAY_FILE_OK && i < sizeof steps / sizeof *steps; i++)
        status = steps[i](builder);
    if (status != INLAY_FILE_OK)
        return status;
    ngram->multipliers = builder->multipliers.values;
    builder->multipliers.values = NULL;
    ngram->spec.multipliers = ngram->multipliers;
    ngram->spec.vectors = 1;
    ngram->spec.columns = ngram->columns;
    ngram->spec.column_count = builder->moduli.count;
    inlay_status made = inlay_ngram_create(&ngram->spec, NULL, &ngram->ngram);
    if (made == INLAY_ERROR_NO_MEMORY || ngram->report.failed)
        return inlay_file_fail_memory(builder->error, NULL);
    if (made != INLAY_OK)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(builder->found.name), "%s",
                               inlay_status_string(made));
    return INLAY_FILE_OK;
}

/* ---- The handle ------------------------------------------------------------------------------------------------- */

inlay_file_status inlay_file_ngram_create(inlay_file *file, int64_t model_layer, inlay_file_ngram **ngram,
                                          inlay_file_error *error)
{
    if (ngram != NULL)
        *ngram = NULL;
    if (file == NULL || ngram == NULL || model_layer < -1)
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, inlay_text_of(NULL), "%s",
                               inlay_file_status_string(INLAY_FILE_ERROR_ARGUMENT));
    struct builder builder = {.file = file, .settings = inlay_settings_of(file), .error = error};
    inlay_file_status status = inlay_hash_find(file, model_layer, &builder.found, error);
    if (status != INLAY_FILE_OK)
        return status;
    builder.ngram = calloc(1, sizeof *builder.ngram);
    if (builder.ngram == NULL)
        return inlay_file_fail_memory(error, NULL);
    status = build(&builder);
    const struct inlay_integers *const read[] = {&builder.layers, &builder.multipliers, &builder.moduli,
                                                 &builder.offsets, &builder.token_map};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        free(read[i]->values);
    if (status == INLAY_FILE_OK)
        *ngram = builder.ngram;
    else
        inlay_file_ngram_destroy(builder.ngram);
    return status;
}

void inlay_file_ngram_destroy(inlay_file_ngram *ngram)
{
    if (ngram == NULL)
        return;
    inlay_ngram_destroy(ngram->ngram);
    free(ngram->columns);
    free(ngram->multipliers);
    free(ngram->token_map);
    inlay_report_release(&ngram->report);
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
