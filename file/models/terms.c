/* SPDX-License-Identifier: MIT */
/*
 * The terms of a layer, one function each. float32 vectors stay in place in the file, unaligned; others are converted.
 */
#include "models/builder.h"
#include "piece.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a tensor of the layer; null if it is missing, with an error unless it is optional. */
static const inlay_file_tensor *find_tensor(const struct inlay_layer_builder *builder, const char *name)
{
    char full[INLAY_MODEL_NAME_ROOM];
    const inlay_file_tensor *tensor = inlay_model_tensor(&builder->found, name, full);
    if (tensor == NULL && !inlay_model_may_lack(name))
        inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, full,
                        "the input layer of a %s model needs this tensor", builder->found.model->name);
    return tensor;
}

/* Finds a setting of the family. */
static bool find(const struct inlay_layer_builder *builder, enum inlay_setting_kind kind, const struct inlay_key *key,
                 struct inlay_setting *setting)
{
    return inlay_settings_find(&builder->found.settings, kind, key, setting);
}

/* Makes a table of a tensor. */
static bool take_table(const struct inlay_layer_builder *builder, const char *what, const inlay_file_tensor *tensor,
                       inlay_file_table *table)
{
    if (builder->found.outer_size > 0 && strcmp(tensor->type, "U32") == 0)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, tensor->path, tensor->name,
                               "its name has a prefix that MLX's settings in config.json may lack");
    if (inlay_file_get_table(builder->found.settings.file, tensor->name, table, builder->error) != INLAY_FILE_OK)
        return false;
    inlay_report_tensor(&builder->layer->report, what, tensor);
    const inlay_table *view = &table->view;
    if (inlay_piece_is_double(tensor))
        inlay_report_line(&builder->layer->report, "%s: a copy of %zu bytes, rounded to float32", what,
                          view->rows * view->stride_bytes);
    else if (view->type != tensor->element)
        inlay_report_line(&builder->layer->report, "%s: a table of %s [%zu, %zu], %zu columns to a scale%s", what,
                          inlay_element_type_name(view->type, 0), view->rows, view->dim,
                          view->group > 0                ? (size_t)view->group
                          : view->type == INLAY_E2M1_F32 ? 16
                                                         : 32,
                          view->zeros != NULL ? ", with zero points" : "");
    return true;
}

/* Finds a table that is added to token rows, and leaves *term unchanged if it is optional and missing. */
static bool find_term(const struct inlay_layer_builder *builder, const char *what, const char *name,
                      inlay_file_table *table, const inlay_table **term)
{
    const inlay_file_tensor *tensor = find_tensor(builder, name);
    if (tensor == NULL)
        return inlay_model_may_lack(name);
    if (!take_table(builder, what, tensor, table))
        return false;
    const size_t dim = builder->layer->tokens.view.dim;
    if (table->view.dim != dim)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                               "it has %zu columns, but %s has %zu", table->view.dim, builder->tokens_name, dim);
    if (table->scale != 1)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, tensor->name,
                               "a layer cannot scale these rows");
    *term = &table->view;
    return true;
}

/* ---- Terms of the layer ----------------------------------------------------------------------------------------- */

bool inlay_build_tokens(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    const inlay_file_tensor *tensor = find_tensor(builder, builder->found.names->tokens);
    inlay_file_layer *layer = builder->layer;
    const inlay_table *view = &layer->tokens.view;
    const bool is_head = builder->found.head != NULL;
    if (tensor == NULL ||
        !take_table(builder, is_head ? "tokens, tied by config.tie_word_embeddings" : "tokens", tensor, &layer->tokens))
        return false;
    builder->tokens_name = tensor->name;
    const struct inlay_key dim_key = {model->any_dim       ? NULL
                                      : model->dim != NULL ? model->dim
                                                           : "hidden_size",
                                      model->architectures != NULL && model->part == NULL ? "embedding_length" : NULL,
                                      (double)view->dim, .may_be_null = true};
    const struct inlay_key vocab_key = {"vocab_size", "vocab_size", (double)view->rows, .may_be_null = true};
    struct inlay_setting dim, vocab;
    if (!find(builder, INLAY_SETTING_INTEGER, &dim_key, &dim) ||
        !find(builder, INLAY_SETTING_INTEGER, &vocab_key, &vocab))
        return false;
    if (dim.integer < 0 || (uint64_t)dim.integer != view->dim)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                               "it has %zu columns, but %s is %lld", view->dim, dim.key, dim.integer);
    if (builder->found.is_prefix_given && model->part == NULL &&
        (vocab.integer < 0 || (uint64_t)vocab.integer > view->rows))
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                               "it has %zu rows, but %s is %lld: prefix and config.json do not match", view->rows,
                               vocab.key, vocab.integer);
    if (model->pooling == INLAY_POOLING_NONE && model->part == NULL &&
        (vocab.integer < 0 || (uint64_t)vocab.integer != view->rows))
        inlay_report_line(&layer->report, "vocabulary: ids below %zu, the rows of the table; %s is %lld", view->rows,
                          vocab.key, vocab.integer);
    layer->spec = inlay_layer_spec_default(view);
    layer->spec.out_type = builder->out_type;
    return true;
}

/* Sets how tokens are numbered, if there are positions. */
static bool add_numbering(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    inlay_file_layer *layer = builder->layer;
    struct inlay_setting pad = {0, 0, NULL};
    layer->start = model->start;
    if (model->padding_aware || model->after_padding) {
        if (!find(builder, INLAY_SETTING_INTEGER, &model->padding, &pad))
            return false;
        if (pad.integer < 0 || (uint64_t)pad.integer >= layer->tokens.view.rows)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, pad.key,
                                   "the padding id is %lld, but the table has %zu rows", pad.integer,
                                   layer->tokens.view.rows);
    }
    if (model->after_padding)
        layer->start = pad.integer + 1;
    if (model->padding_aware) {
        layer->spec.padding_id = pad.integer;
        layer->spec.zero_rows = model->zero_rows;
        layer->spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
        inlay_report_line(&layer->report, "padding: id %lld (%s) is not counted%s", pad.integer,
                          inlay_setting_origin(&pad),
                          model->zero_rows == INLAY_ZERO_ROWS_BARE ? ", and its row is zeros" : "");
    }
    inlay_report_line(&layer->report, "start: the first position is %lld", (long long)layer->start);
    return true;
}

static bool add_sinusoid(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    inlay_file_layer *layer = builder->layer;
    struct inlay_setting wanted = {0, 1, NULL};
    if (model->sinusoid.config != NULL && !find(builder, INLAY_SETTING_FLAG, &model->sinusoid, &wanted))
        return false;
    if (!wanted.integer) {
        char full[INLAY_MODEL_NAME_ROOM];
        inlay_model_tensor(&builder->found, builder->found.names->positions, full);
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, full, "the positions are missing");
    }
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(model->recipe, layer->tokens.view.dim);
    inlay_status made = inlay_sinusoid_create(&spec, NULL, &layer->sinusoid);
    if (made == INLAY_ERROR_NO_MEMORY)
        return inlay_file_fail_memory(builder->error, NULL);
    if (made != INLAY_OK)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, builder->tokens_name,
                               "its %zu columns do not suit sinusoids of recipe %s: %s", layer->tokens.view.dim,
                               inlay_recipe_name(model->recipe), inlay_status_string(made));
    layer->spec.sinusoid = layer->sinusoid;
    inlay_report_line(&layer->report, "positions: sinusoids, recipe %s", inlay_recipe_name(model->recipe));
    return true;
}

static bool build_positions(struct inlay_layer_builder *builder)
{
    inlay_layer_spec *spec = &builder->layer->spec;
    if (!find_term(builder, "positions", builder->found.names->positions, &builder->layer->positions, &spec->positions))
        return false;
    if (spec->positions == NULL && builder->found.model->recipe == 0)
        return true;
    return (spec->positions != NULL || add_sinusoid(builder)) && add_numbering(builder);
}

static bool build_segments(struct inlay_layer_builder *builder)
{
    inlay_layer_spec *spec = &builder->layer->spec;
    const bool first = !builder->found.model->positions_first;
    const struct inlay_key *key = &builder->found.model->types_key;
    struct inlay_setting types;
    if (key->config != NULL && !find(builder, INLAY_SETTING_INTEGER, key, &types))
        return false;
    if (key->config != NULL && types.integer == 0) {
        inlay_report_line(&builder->layer->report, "segments: none, %s is 0 (%s)", key->config,
                          inlay_setting_origin(&types));
        return true;
    }
    if (!find_term(builder, first ? "segments, added before positions" : "segments", builder->found.names->segments,
                   &builder->layer->segments, &spec->segments))
        return false;
    spec->segments_first = spec->segments != NULL && first;
    return true;
}

/* Checks that a tensor has one dimension and one of the supported types; otherwise lists them in the error. */
static bool check_vector(const struct inlay_layer_builder *builder, const inlay_file_tensor *tensor, bool has_type,
                         const char *types)
{
    if (!inlay_catalog_check(tensor, builder->error))
        return false;
    if (tensor->rank != 1)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                               "it has %u dimensions instead of one", tensor->rank);
    if (!has_type)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_TYPE, tensor->path, tensor->name,
                               "its type is %s instead of %s", tensor->type, types);
    return true;
}

/* Finds a tensor's values as float32. There must be `count` of them, as many as `of` has. */
static bool take_floats(const struct inlay_layer_builder *builder, const inlay_file_tensor *tensor, const char *of,
                        size_t count, const char *unit, const void **floats)
{
    inlay_file_layer *layer = builder->layer;
    const bool is_float = tensor->element == INLAY_F32;
    const bool is_other =
        tensor->element == INLAY_F16 || tensor->element == INLAY_BF16 || inlay_piece_is_double(tensor);
    if (!check_vector(builder, tensor, is_float || is_other, "F32, F16, BF16 or F64"))
        return false;
    if (tensor->shape[0] != count)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, tensor->name,
                               "it has %llu elements, but %s has %zu%s", (unsigned long long)tensor->shape[0], of,
                               count, unit);
    *floats = tensor->data;
    if (is_float)
        return true;
    float *made = malloc(count * sizeof *made + 1);
    if (made == NULL)
        return inlay_file_fail_memory(builder->error, tensor->path);
    *floats = layer->converted[layer->converted_count++] = made;
    inlay_piece_convert(tensor, count, 1, 1, made);
    return true;
}

/* Finds a vector of the norm. */
static bool find_vector(const struct inlay_layer_builder *builder, const char *what, const char *name,
                        const void **vector)
{
    const inlay_file_tensor *tensor = find_tensor(builder, name);
    if (tensor == NULL)
        return inlay_model_may_lack(name);
    inlay_report_tensor(&builder->layer->report, what, tensor);
    return take_floats(builder, tensor, builder->tokens_name, builder->layer->tokens.view.dim, " columns", vector);
}

static bool build_norm(struct inlay_layer_builder *builder)
{
    static const char *const norms[] = {[INLAY_NORM_LAYER] = "LayerNorm", [INLAY_NORM_RMS] = "RMSNorm"};
    const struct inlay_model *model = builder->found.model;
    const struct inlay_model_names *names = builder->found.names;
    inlay_file_layer *layer = builder->layer;
    const char *architecture = builder->found.settings.architecture;
    struct inlay_setting epsilon;
    if (model->norm == INLAY_NORM_NONE)
        return true;
    if (!find(builder, INLAY_SETTING_NUMBER, &model->epsilon, &epsilon))
        return false;
    if (epsilon.key == NULL && architecture != NULL && model->epsilon.gguf != NULL) { /* llama.cpp has no default */
        char key[INLAY_MODEL_NAME_ROOM];
        snprintf(key, sizeof key, "%s.%s", architecture, model->epsilon.gguf);
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, key,
                               "the norm of a %s model needs this number", model->name);
    }
    if (epsilon.number < 0 || epsilon.number > 1)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, epsilon.key,
                               "the epsilon of a norm must be from 0 to 1");
    if (!find_vector(builder, "norm, weight", names->gamma, &layer->spec.gamma) ||
        !find_vector(builder, "norm, bias", names->beta, &layer->spec.beta))
        return false;
    layer->spec.norm = model->norm;
    layer->spec.epsilon = (float)epsilon.number;
    inlay_report_line(&layer->report, "norm: %s, epsilon %g (%s)", norms[model->norm], epsilon.number,
                      inlay_setting_origin(&epsilon));
    return true;
}

/* Rounds a number to a 16-bit type, by a table of one element. Returns it as is for other types. */
static float rounded_to(inlay_element_type type, float number)
{
    const int32_t row = 0;
    uint16_t bits = 0;
    inlay_table from = inlay_table_f32(&number, 1, 1), view;
    inlay_table_storage to = inlay_table_storage_of(type, &bits, 1);
    if ((type == INLAY_F16 || type == INLAY_BF16) && inlay_table_quantize(&from, &to, &view, NULL) == INLAY_OK)
        inlay_gather(&view, &row, INLAY_ID_I32, 1, 1, &number, sizeof number, NULL, NULL);
    return number;
}

/* Computes the scale of token rows, excluding the scale of a quantized table, and reports its source. */
static bool find_scale(const struct inlay_layer_builder *builder, float *scale, struct inlay_setting *setting)
{
    static const enum inlay_setting_kind kinds[] = {[INLAY_MODEL_SCALE_FLAG] = INLAY_SETTING_FLAG,
                                                    [INLAY_MODEL_SCALE_NUMBER] = INLAY_SETTING_NUMBER,
                                                    [INLAY_MODEL_SCALE_SQRT_KEY] = INLAY_SETTING_INTEGER};
    const struct inlay_model *model = builder->found.model;
    const inlay_table *view = &builder->layer->tokens.view;
    /* transformers rounds the scale to the type that the model runs in; llama.cpp keeps it in float32. */
    const bool is_gguf = builder->found.settings.architecture != NULL;
    const inlay_element_type type = is_gguf ? INLAY_F32 : builder->layer->spec.out_type;
    if (!find(builder, kinds[model->scale], &model->scale_key, setting))
        return false;
    switch (model->scale) {
    case INLAY_MODEL_SCALE_ONE:
        break;
    case INLAY_MODEL_SCALE_FLAG:
        *scale = setting->integer ? inlay_sqrt_dim(view->dim) : 1;
        break;
    case INLAY_MODEL_SCALE_NUMBER:
        /* llama.cpp does not scale rows by 0. */
        *scale = is_gguf && setting->number == 0 ? 1 : (float)setting->number;
        break;
    case INLAY_MODEL_SCALE_SQRT:
        *scale = rounded_to(type, inlay_sqrt_dim(view->dim));
        break;
    case INLAY_MODEL_SCALE_SQRT_KEY:
        if (setting->integer < 1 || view->dim % (uint64_t)setting->integer != 0)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, builder->tokens_name,
                                   "it has %zu columns, which must be a multiple of %lld (%s)", view->dim,
                                   setting->integer, inlay_setting_origin(setting));
        *scale = rounded_to(type, inlay_sqrt_dim((size_t)setting->integer));
        break;
    }
    return true;
}

static bool build_scale(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    const bool has_key = builder->found.model->scale_key.config != NULL;
    struct inlay_setting setting;
    float scale = 1;
    if (!find_scale(builder, &scale, &setting))
        return false;
    layer->spec.scale = scale * layer->tokens.scale;
    if (!isfinite(layer->spec.scale))
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL,
                               setting.key != NULL ? setting.key : builder->tokens_name,
                               "the scale of token rows is not a finite float32");
    if (builder->found.model->scale != INLAY_MODEL_SCALE_ONE)
        inlay_report_line(&layer->report, "scale: %.9g%s%s%s", (double)scale, has_key ? " (" : "",
                          has_key ? inlay_setting_origin(&setting) : "", has_key ? ")" : "");
    if (layer->tokens.scale != 1)
        inlay_report_line(&layer->report, "scale of the table: %.9g", (double)layer->tokens.scale);
    return true;
}

/* ---- Static embeddings ------------------------------------------------------------------------------------------ */

/* Checks that no value of a mapping is negative: layers take -1 as no row, but NumPy, and so model2vec, as the last. */
static bool check_signs(const struct inlay_layer_builder *builder, const inlay_file_tensor *mapping, size_t value_bytes)
{
    const unsigned char *const bytes = mapping->data;
    for (size_t i = 0; i < mapping->bytes / value_bytes; i++)
        if ((bytes[i * value_bytes + value_bytes - 1] & 128) != 0)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_RANGE, mapping->path, mapping->name,
                                   "entry %zu is negative: it must be a row of the table", i);
    return true;
}

/* Finds the mapping of ids to rows and the weight of each id, if the file has them. */
static bool add_mapping(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    inlay_layer_spec *spec = &layer->spec;
    const struct inlay_model_names *names = builder->found.names;
    char full[INLAY_MODEL_NAME_ROOM];
    const inlay_file_tensor *mapping = inlay_model_tensor(&builder->found, names->mapping, full);
    const inlay_file_tensor *weights = inlay_model_tensor(&builder->found, names->weights, full);
    size_t ids = layer->tokens.view.rows;
    if (mapping != NULL) {
        const bool is_64 = strcmp(mapping->type, "I64") == 0;
        if (!check_vector(builder, mapping, is_64 || strcmp(mapping->type, "I32") == 0, "I32 or I64") ||
            !check_signs(builder, mapping, is_64 ? 8 : 4))
            return false;
        spec->token_mapping = mapping->data;
        spec->token_mapping_type = is_64 ? INLAY_ID_I64 : INLAY_ID_I32;
        spec->token_mapping_length = ids = (size_t)mapping->shape[0];
        inlay_report_tensor(&layer->report, "mapping", mapping);
    }
    if (weights != NULL) {
        const char *of = mapping != NULL ? mapping->name : builder->tokens_name;
        if (!take_floats(builder, weights, of, ids, "", &spec->token_weights))
            return false;
        spec->token_weights_length = ids;
        inlay_report_tensor(&layer->report, spec->token_weights != weights->data ? "weights, as float32" : "weights",
                            weights);
    }
    return true;
}

static bool build_pooling(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    inlay_file_layer *layer = builder->layer;
    struct inlay_setting normalize;
    if (model->pooling == INLAY_POOLING_NONE)
        return true;
    if (!add_mapping(builder) ||
        !inlay_settings_find(&builder->found.settings, INLAY_SETTING_FLAG, &model->normalize, &normalize))
        return false;
    layer->spec.pooling = model->pooling;
    inlay_report_line(&layer->report, "pooling: mean");
    if (normalize.integer) {
        layer->spec.norm = INLAY_NORM_L2;
        layer->spec.epsilon = (float)model->epsilon.otherwise;
        inlay_report_line(&layer->report, "norm: L2, epsilon %g (%s)", model->epsilon.otherwise, normalize.key);
    }
    return true;
}

/* ---- All terms -------------------------------------------------------------------------------------------------- */

/* Reports a row of padding that isn't zeros although the layer treats it as zeros. */
static bool check_padding(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    const size_t dim = layer->tokens.view.dim;
    if (layer->spec.padding_id < 0 || layer->spec.zero_rows == INLAY_ZERO_ROWS_TABLE)
        return true;
    float *row = dim <= SIZE_MAX / sizeof *row ? malloc(dim * sizeof *row) : NULL;
    if (row == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    bool is_zero = true;
    if (inlay_gather(&layer->tokens.view, &layer->spec.padding_id, INLAY_ID_I64, 1, 1, row, dim * sizeof *row, NULL,
                     NULL) == INLAY_OK)
        for (size_t i = 0; i < dim; i++)
            is_zero = is_zero && row[i] == 0;
    free(row);
    if (!is_zero)
        inlay_report_line(&layer->report,
                          "note: the row of padding in the file is not zeros; outputs of padding, which "
                          "models ignore, differ from those of the framework");
    return true;
}

bool inlay_build_terms(struct inlay_layer_builder *builder)
{
    const bool *left_out = builder->left_out;
    return (left_out[INLAY_MODEL_SEGMENTS] || build_segments(builder)) &&
           (left_out[INLAY_MODEL_POSITIONS] || build_positions(builder)) &&
           (left_out[INLAY_MODEL_NORM] || build_norm(builder)) && build_scale(builder) && build_pooling(builder) &&
           check_padding(builder);
}
