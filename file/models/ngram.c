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
    struct inlay_integers arrays[INLAY_HASH_PARTS];
    inlay_file_ngram *ngram;
    inlay_file_error *error;
};

static bool fail_missing(const struct builder *builder, const char *what, const char *name)
{
    return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, name,
                           "the %s of the n-grams are not in the files", what);
}

/* Names an array for a message: one that is not there, by where it would be. */
static const char *name_of(const struct builder *builder, enum inlay_hash_part part)
{
    const struct inlay_hash_array *array = &builder->found.kind->arrays[part];
    return array->beside != NULL ? array->beside : array->gguf;
}

static bool read_array(struct builder *builder, enum inlay_hash_part part)
{
    return inlay_hash_read(&builder->settings, &builder->found, part, &builder->arrays[part], &builder->ngram->report);
}

/* Finds which of the layers in arrays of the whole model the layer is, and their number. */
static bool find_slice(struct builder *builder)
{
    struct inlay_hash_table *found = &builder->found;
    const struct inlay_integers *layers = &builder->arrays[INLAY_HASH_LAYERS];
    if (!read_array(builder, INLAY_HASH_LAYERS))
        return false;
    if (layers->count == 0)
        return true;
    found->slices = layers->count;
    if (found->layer < 0 && layers->count == 1)
        found->layer = layers->values[0];
    while (found->slice < layers->count && layers->values[found->slice] != found->layer)
        found->slice++;
    if (found->slice == layers->count)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, found->name,
                               "its layer is not one of the layers with n-grams that the metadata list");
    return true;
}

static bool read_arrays(struct builder *builder)
{
    const struct inlay_hash_kind *kind = builder->found.kind;
    if (!find_slice(builder))
        return false;
    for (enum inlay_hash_part part = INLAY_HASH_MULTIPLIERS; part < INLAY_HASH_PARTS; part++) {
        if (!read_array(builder, part))
            return false;
        if (builder->arrays[part].values == NULL && part != INLAY_HASH_OFFSETS && kind->arrays[part].what != NULL)
            return fail_missing(builder, kind->arrays[part].what, name_of(builder, part));
    }
    return true;
}

/* ---- The spec --------------------------------------------------------------------------------------------------- */

/* Finds the number of ids: those of the map, else the vocabulary of the model. */
static bool find_vocab(struct builder *builder, size_t *vocab)
{
    static const struct inlay_key key = {"vocab_size", "vocab_size", -1};
    const long long most = INT64_C(1) << 31;
    struct inlay_setting setting;
    if (!inlay_settings_find(&builder->settings, INLAY_SETTING_INTEGER, &key, &setting))
        return false;
    const inlay_file_value *tokens = inlay_file_value_named(builder->file, "tokenizer.ggml.tokens");
    const struct inlay_integers *map = &builder->arrays[INLAY_HASH_TOKEN_MAP];
    if (map->values != NULL)
        setting = (struct inlay_setting){0, (long long)map->count, "token map"};
    else if (setting.key == NULL && tokens != NULL && tokens->kind == INLAY_FILE_VALUE_STRINGS)
        setting = (struct inlay_setting){0, (long long)tokens->count, tokens->key};
    if (setting.key == NULL)
        return fail_missing(builder, "ids", "vocab_size");
    if (setting.integer < 1 || setting.integer > most)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, setting.key,
                               "a vocabulary of %lld ids has no n-grams", setting.integer);
    *vocab = (size_t)setting.integer;
    inlay_report_line(&builder->ngram->report, "vocabulary: ids below %zu (%s)", *vocab, setting.key);
    return true;
}

/* Finds an id that a key names; its default is that there is none, which is an error if it is needed. */
static bool find_id(struct builder *builder, const char *what, const char *config, const char *gguf, bool must,
                    int64_t *id)
{
    const struct inlay_key key = {config, gguf, -1};
    struct inlay_setting setting;
    if (!inlay_settings_find(&builder->settings, INLAY_SETTING_INTEGER, &key, &setting))
        return false;
    *id = setting.integer;
    if (setting.key == NULL)
        return !must || fail_missing(builder, what, config);
    if (setting.integer < 0 || (uint64_t)setting.integer >= builder->ngram->spec.vocab)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, setting.key,
                               "the id %lld is not below the %zu of the vocabulary", setting.integer,
                               builder->ngram->spec.vocab);
    inlay_report_line(&builder->ngram->report, "%s: id %lld (%s)", what, setting.integer, setting.key);
    return true;
}

static bool make_token_map(struct builder *builder)
{
    const struct inlay_integers *map = &builder->arrays[INLAY_HASH_TOKEN_MAP];
    if (map->values == NULL)
        return true;
    builder->ngram->token_map = malloc(map->count * sizeof *builder->ngram->token_map + 1);
    if (builder->ngram->token_map == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    for (size_t i = 0; i < map->count; i++) {
        if (map->values[i] < 0 || map->values[i] > UINT32_MAX)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_RANGE, NULL, name_of(builder, INLAY_HASH_TOKEN_MAP),
                                   "the number of id %zu is %lld", i, (long long)map->values[i]);
        builder->ngram->token_map[i] = (uint32_t)map->values[i];
    }
    builder->ngram->spec.token_map = builder->ngram->token_map;
    return true;
}

/* Sets pad, resets and masks. */
static bool make_blocks(struct builder *builder)
{
    const struct inlay_hash_kind *kind = builder->found.kind;
    inlay_ngram_spec *spec = &builder->ngram->spec;
    if (!find_id(builder, kind->pad_resets ? "pad, and end of texts" : "pad", kind->pad_config, kind->pad_gguf, true,
                 &builder->ngram->pad) ||
        !find_id(builder, "mask", kind->mask_config, NULL, false, &builder->ngram->mask))
        return false;
    spec->pad = spec->token_map != NULL ? spec->token_map[builder->ngram->pad] : (uint32_t)builder->ngram->pad;
    spec->resets = &builder->ngram->pad;
    spec->reset_count = kind->pad_resets;
    spec->masks = &builder->ngram->mask;
    spec->mask_count = builder->ngram->mask >= 0;
    return true;
}

/* Makes the columns: lengths from 2 on, as many columns of each. */
static bool make_columns(struct builder *builder)
{
    const struct inlay_integers *moduli = &builder->arrays[INLAY_HASH_MODULI];
    const struct inlay_integers *offsets = &builder->arrays[INLAY_HASH_OFFSETS];
    const size_t length = builder->arrays[INLAY_HASH_MULTIPLIERS].count, count = moduli->count;
    if (length < 2 || length > INLAY_NGRAM_LENGTH_MOST || count == 0 || count > INLAY_NGRAM_COLUMNS_MOST ||
        count % (length - 1) != 0)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, name_of(builder, INLAY_HASH_MODULI),
                               "%zu columns do not suit n-grams of %zu multipliers", count, length);
    if (offsets->values != NULL && offsets->count != count)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, name_of(builder, INLAY_HASH_OFFSETS),
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
                                   "column %zu has offset %lld and modulus %lld, and the table has %lld rows", c,
                                   offset, modulus, rows);
        builder->ngram->columns[c] = (inlay_ngram_column){.length = (uint32_t)(2 + c / (count / (length - 1))),
                                                          .modulus = (uint32_t)modulus,
                                                          .offset = (uint64_t)offset};
        sum = offset + modulus;
    }
    inlay_report_line(&builder->ngram->report, "columns: %zu of each length from 2 to %zu%s", count / (length - 1),
                      length, offsets->values == NULL ? ", one behind the other" : "");
    return true;
}

static bool build(struct builder *builder)
{
    inlay_file_ngram *ngram = builder->ngram;
    struct inlay_integers *multipliers = &builder->arrays[INLAY_HASH_MULTIPLIERS];
    inlay_report_line(&ngram->report, "model: %s", builder->found.kind->name);
    if (inlay_file_table_of(builder->file, builder->found.name, &ngram->table, builder->error) != INLAY_FILE_OK)
        return false;
    const inlay_table *view = &ngram->table.view;
    inlay_report_line(&ngram->report, "table: %s [%zu, %zu] in %zu tensors", builder->found.name, view->rows, view->dim,
                      view->extent_count > 0 ? view->extent_count : 1);
    if (ngram->table.scale != 1)
        inlay_report_line(&ngram->report, "scale of the table: %.9g", (double)ngram->table.scale);
    size_t vocab = 0;
    if (!read_arrays(builder) || !find_vocab(builder, &vocab))
        return false;
    ngram->spec = inlay_ngram_spec_default(vocab, (uint32_t)multipliers->count, INLAY_NGRAM_MIX_XOR);
    if (!make_token_map(builder) || !make_blocks(builder) || !make_columns(builder))
        return false;
    ngram->multipliers = multipliers->values;
    multipliers->values = NULL;
    ngram->spec.multipliers = ngram->multipliers;
    ngram->spec.vectors = 1;
    ngram->spec.columns = ngram->columns;
    ngram->spec.column_count = builder->arrays[INLAY_HASH_MODULI].count;
    inlay_status made = inlay_ngram_create(&ngram->spec, NULL, &ngram->ngram);
    if (made == INLAY_ERROR_NO_MEMORY || ngram->report.failed)
        return inlay_file_fail_memory(builder->error, NULL);
    if (made != INLAY_OK)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, builder->found.name, "%s",
                               inlay_status_string(made));
    return true;
}

/* ---- The handle ------------------------------------------------------------------------------------------------- */

static bool create(inlay_file *file, int64_t model_layer, inlay_file_ngram **ngram, inlay_file_error *error)
{
    if (file == NULL || ngram == NULL || model_layer < -1)
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, NULL, "%s",
                               inlay_file_status_string(INLAY_FILE_ERROR_ARGUMENT));
    struct builder builder = {.file = file, .settings = inlay_settings_of(file, error), .error = error};
    if (!inlay_hash_find(&builder.settings, model_layer, &builder.found))
        return false;
    builder.ngram = calloc(1, sizeof *builder.ngram);
    if (builder.ngram == NULL)
        return inlay_file_fail_memory(error, NULL);
    const bool is_made = build(&builder);
    for (size_t part = 0; part < INLAY_HASH_PARTS; part++)
        free(builder.arrays[part].values);
    if (is_made)
        *ngram = builder.ngram;
    else
        inlay_file_ngram_destroy(builder.ngram);
    return is_made;
}

inlay_file_status inlay_file_ngram_create(inlay_file *file, int64_t model_layer, inlay_file_ngram **ngram,
                                          inlay_file_error *error)
{
    inlay_file_error unwanted;
    error = error != NULL ? error : &unwanted;
    if (ngram != NULL)
        *ngram = NULL;
    return create(file, model_layer, ngram, error) ? INLAY_FILE_OK : error->status;
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
