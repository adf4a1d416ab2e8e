/* SPDX-License-Identifier: MIT */
/*
 * The steps of builder.h for what most layers have: tokens, segments, positions, norm and scale.
 */
#include "models/builder.h"
#include "models/vectors.h"

#include <math.h>

inlay_file_status inlay_build_fail(const struct inlay_layer_builder *builder, inlay_file_status status,
                                   const char *name, const char *sentence)
{
    return inlay_file_fail(builder->error, status, NULL, inlay_text_of(name), "%s", sentence);
}

inlay_file_status inlay_build_tensor(const struct inlay_layer_builder *builder, const char *name,
                                     const inlay_file_tensor **tensor)
{
    char full[INLAY_MODEL_NAME_ROOM];
    *tensor = name != NULL ? inlay_model_tensor(&builder->found, name, full) : NULL;
    if (*tensor != NULL || inlay_model_may_lack(name))
        return INLAY_FILE_OK;
    return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MISSING, NULL, inlay_text_of(full),
                           "the input layer of a %s model needs this tensor", builder->found.model->name);
}

/* Finds a table of the layer, and leaves *table as it is if it may be absent and is. */
static inlay_file_status find_table(const struct inlay_layer_builder *builder, const char *what, const char *name,
                                    inlay_file_table *table, const inlay_file_tensor **tensor)
{
    inlay_file_status status = inlay_build_tensor(builder, name, tensor);
    if (status != INLAY_FILE_OK || *tensor == NULL)
        return status;
    status = inlay_file_table_of(builder->file, (*tensor)->name, table, builder->error);
    if (status != INLAY_FILE_OK)
        return status;
    inlay_report_tensor(&builder->layer->report, what, *tensor);
    const inlay_table *view = &table->view;
    if (view->type != (*tensor)->element)
        inlay_report_line(&builder->layer->report, "%s: a table of %s [%zu, %zu], %zu columns to a scale%s", what,
                          inlay_element_type_name(view->type, 0), view->rows, view->dim,
                          view->group > 0                ? (size_t)view->group
                          : view->type == INLAY_E2M1_F32 ? 16
                                                         : 32,
                          view->zeros != NULL ? ", with zero points" : "");
    return INLAY_FILE_OK;
}

/* Finds a table that is added to token rows. */
static inlay_file_status find_term(const struct inlay_layer_builder *builder, const char *what, const char *name,
                                   inlay_file_table *table, const inlay_table **term)
{
    const inlay_file_tensor *tensor;
    inlay_file_status status = find_table(builder, what, name, table, &tensor);
    if (status != INLAY_FILE_OK || tensor == NULL)
        return status;
    const size_t dim = builder->layer->tokens.view.dim;
    if (table->view.dim != dim)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, inlay_text_of(tensor->name),
                               "it has %zu columns, and %s has %zu", table->view.dim, builder->tokens_name, dim);
    if (table->scale != 1)
        return inlay_build_fail(builder, INLAY_FILE_ERROR_MODEL, tensor->name, "no layer has a scale for these rows");
    *term = &table->view;
    return INLAY_FILE_OK;
}

/* ---- Terms of the layer ----------------------------------------------------------------------------------------- */

inlay_file_status inlay_build_tokens(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    const inlay_file_tensor *tensor;
    inlay_file_layer *layer = builder->layer;
    inlay_file_status status = find_table(builder, "tokens", builder->found.names->tokens, &layer->tokens, &tensor);
    if (status != INLAY_FILE_OK)
        return status;
    builder->tokens_name = tensor->name;
    const inlay_table *view = &layer->tokens.view;
    struct inlay_setting dim = {0, (int64_t)view->dim, NULL}, vocab;
    if (!model->any_dim)
        status = inlay_settings_integer(&builder->found.settings, model->dim != NULL ? model->dim : "hidden_size",
                                        model->architectures != NULL ? "embedding_length" : NULL, dim.integer, &dim,
                                        builder->error);
    if (status == INLAY_FILE_OK)
        status = inlay_settings_integer(&builder->found.settings, "vocab_size", "vocab_size", (int64_t)view->rows,
                                        &vocab, builder->error);
    if (status != INLAY_FILE_OK)
        return status;
    if (dim.integer < 0 || (uint64_t)dim.integer != view->dim)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, inlay_text_of(tensor->name),
                               "it has %zu columns, and %s is %lld", view->dim, dim.key, (long long)dim.integer);
    if (model->pooling == INLAY_POOLING_NONE && model->part == NULL &&
        (vocab.integer < 0 || (uint64_t)vocab.integer != view->rows))
        inlay_report_line(&layer->report, "vocabulary: ids below %zu, the rows of the table; %s is %lld", view->rows,
                          vocab.key, (long long)vocab.integer);
    layer->spec = inlay_layer_spec_default(view);
    return INLAY_FILE_OK;
}

/* Sets how tokens are numbered, which follows only where there are positions. */
static inlay_file_status add_numbering(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    inlay_file_layer *layer = builder->layer;
    bool is_aware = model->numbering == INLAY_MODEL_AFTER_PAD || model->numbering == INLAY_MODEL_AWARE_FROM_2;
    bool is_after = model->numbering == INLAY_MODEL_AFTER_PAD || model->numbering == INLAY_MODEL_FROM_PAD;
    layer->start = model->numbering == INLAY_MODEL_FROM_ZERO ? 0 : 2;
    if (is_aware || is_after) {
        struct inlay_setting pad;
        inlay_file_status status =
            inlay_settings_integer(&builder->found.settings, model->padding.config, model->padding.gguf,
                                   (int64_t)model->padding.otherwise, &pad, builder->error);
        if (status != INLAY_FILE_OK)
            return status;
        if (pad.integer < 0 || (uint64_t)pad.integer >= layer->tokens.view.rows)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(pad.key),
                                   "the id of padding is %lld, and the table has %zu rows", (long long)pad.integer,
                                   layer->tokens.view.rows);
        if (is_after)
            layer->start = pad.integer + 1;
        if (is_aware) {
            layer->spec.padding_id = pad.integer;
            layer->spec.zero_rows = model->zero_rows;
            layer->spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
            inlay_report_line(&layer->report, "padding: id %lld (%s) is not counted%s", (long long)pad.integer,
                              inlay_setting_origin(&pad),
                              model->zero_rows == INLAY_ZERO_ROWS_BARE ? ", and its row is zeros" : "");
        }
    }
    inlay_report_line(&layer->report, "start: the first position is %lld", (long long)layer->start);
    return INLAY_FILE_OK;
}

static inlay_file_status add_sinusoid(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    inlay_file_layer *layer = builder->layer;
    struct inlay_setting wanted = {0, 1, NULL};
    if (model->sinusoid.config != NULL) {
        inlay_file_status status =
            inlay_settings_flag(&builder->found.settings, model->sinusoid.config, model->sinusoid.gguf,
                                model->sinusoid.otherwise != 0, &wanted, builder->error);
        if (status != INLAY_FILE_OK)
            return status;
    }
    if (!wanted.integer) {
        char full[INLAY_MODEL_NAME_ROOM];
        inlay_model_tensor(&builder->found, builder->found.names->positions, full);
        return inlay_build_fail(builder, INLAY_FILE_ERROR_MISSING, full, "the positions are not there");
    }
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(model->recipe, layer->tokens.view.dim);
    inlay_status made = inlay_sinusoid_create(&spec, NULL, &layer->sinusoid);
    if (made == INLAY_ERROR_NO_MEMORY)
        return inlay_file_fail_memory(builder->error, NULL);
    if (made != INLAY_OK)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, inlay_text_of(builder->tokens_name),
                               "its %zu columns have no sinusoids of recipe %s: %s", layer->tokens.view.dim,
                               inlay_recipe_name(model->recipe), inlay_status_string(made));
    layer->spec.sinusoid = layer->sinusoid;
    inlay_report_line(&layer->report, "positions: sinusoids, recipe %s", inlay_recipe_name(model->recipe));
    return INLAY_FILE_OK;
}

inlay_file_status inlay_build_positions(struct inlay_layer_builder *builder)
{
    inlay_layer_spec *spec = &builder->layer->spec;
    inlay_file_status status =
        find_term(builder, "positions", builder->found.names->positions, &builder->layer->positions, &spec->positions);
    if (status == INLAY_FILE_OK && spec->positions == NULL && builder->found.model->recipe != 0)
        status = add_sinusoid(builder);
    if (status == INLAY_FILE_OK && (spec->positions != NULL || spec->sinusoid != NULL))
        status = add_numbering(builder);
    return status;
}

inlay_file_status inlay_build_segments(struct inlay_layer_builder *builder)
{
    inlay_layer_spec *spec = &builder->layer->spec;
    const char *what = builder->found.model->positions_first ? "segments" : "segments, added before positions";
    inlay_file_status status =
        find_term(builder, what, builder->found.names->segments, &builder->layer->segments, &spec->segments);
    spec->segments_first = spec->segments != NULL && !builder->found.model->positions_first;
    return status;
}

/* Finds a vector of the norm. */
static inlay_file_status find_vector(const struct inlay_layer_builder *builder, const char *what, const char *name,
                                     const void **vector, float **owned)
{
    const inlay_file_tensor *tensor;
    inlay_file_status status = inlay_build_tensor(builder, name, &tensor);
    if (status != INLAY_FILE_OK || tensor == NULL)
        return status;
    status = inlay_vector_floats(tensor, vector, owned, builder->error);
    if (status != INLAY_FILE_OK)
        return status;
    const size_t dim = builder->layer->tokens.view.dim;
    if (tensor->shape[0] != dim)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, tensor->path, inlay_text_of(tensor->name),
                               "it has %llu elements, and %s has %zu columns", (unsigned long long)tensor->shape[0],
                               builder->tokens_name, dim);
    inlay_report_tensor(&builder->layer->report, what, tensor);
    return INLAY_FILE_OK;
}

inlay_file_status inlay_build_norm(struct inlay_layer_builder *builder)
{
    static const char *const names[] = {[INLAY_NORM_LAYER] = "LayerNorm", [INLAY_NORM_RMS] = "RMSNorm"};
    const struct inlay_model *model = builder->found.model;
    inlay_file_layer *layer = builder->layer;
    char full[INLAY_MODEL_NAME_ROOM];
    const char *gamma = builder->found.names->gamma;
    if (model->norm == INLAY_NORM_NONE ||
        (gamma != NULL && inlay_model_may_lack(gamma) && inlay_model_tensor(&builder->found, gamma, full) == NULL))
        return INLAY_FILE_OK;
    struct inlay_setting epsilon;
    inlay_file_status status =
        inlay_settings_number(&builder->found.settings, model->epsilon.config, model->epsilon.gguf,
                              model->epsilon.otherwise, &epsilon, builder->error);
    if (status == INLAY_FILE_OK && (epsilon.number < 0 || epsilon.number > 1))
        status = inlay_build_fail(builder, INLAY_FILE_ERROR_MODEL, epsilon.key,
                                  "the epsilon of a norm is a number from 0 to 1");
    if (status == INLAY_FILE_OK)
        status = find_vector(builder, "norm, weight", builder->found.names->gamma, &layer->spec.gamma, &layer->gamma);
    if (status == INLAY_FILE_OK)
        status = find_vector(builder, "norm, bias", builder->found.names->beta, &layer->spec.beta, &layer->beta);
    if (status != INLAY_FILE_OK)
        return status;
    layer->spec.norm = model->norm;
    layer->spec.epsilon = (float)epsilon.number;
    inlay_report_line(&layer->report, "norm: %s, epsilon %g (%s)", names[model->norm], epsilon.number,
                      inlay_setting_origin(&epsilon));
    return INLAY_FILE_OK;
}

/* Rounds a number to a 16-bit type by way of a table of one element. Of other types it stays. */
static float rounded_to(inlay_element_type type, float number)
{
    const int32_t row = 0;
    uint16_t bits = 0;
    inlay_table from = inlay_table_f32(&number, 1, 1), view;
    inlay_table_storage to = inlay_table_storage_of(type, &bits, 1);
    if (type == INLAY_F16 || type == INLAY_BF16)
        if (inlay_table_quantize(&from, &to, &view, NULL) == INLAY_OK) {
            float rounded;
            if (inlay_gather(&view, &row, INLAY_ID_I32, 1, 1, &rounded, sizeof rounded, NULL, NULL) == INLAY_OK)
                return rounded;
        }
    return number;
}

/* Computes the factor of token rows, without that of a quantised table, and says where it is from. */
static inlay_file_status find_scale(const struct inlay_layer_builder *builder, float *scale,
                                    struct inlay_setting *setting)
{
    const struct inlay_model *model = builder->found.model;
    const struct inlay_settings *settings = &builder->found.settings;
    const struct inlay_model_key *key = &model->scale_key;
    const inlay_table *view = &builder->layer->tokens.view;
    /* Frameworks keep the factor in the type of the model; llama.cpp keeps it in float32. */
    const inlay_element_type type = settings->architecture == NULL ? view->type : INLAY_F32;
    inlay_file_status status = INLAY_FILE_OK;
    switch (model->scale) {
    case INLAY_MODEL_SCALE_ONE:
        break;
    case INLAY_MODEL_SCALE_FLAG:
        status = inlay_settings_flag(settings, key->config, key->gguf, key->otherwise != 0, setting, builder->error);
        *scale = setting->integer ? inlay_sqrt_dim(view->dim) : 1;
        break;
    case INLAY_MODEL_SCALE_NUMBER:
        status = inlay_settings_number(settings, key->config, key->gguf, key->otherwise, setting, builder->error);
        *scale = (float)setting->number;
        break;
    case INLAY_MODEL_SCALE_SQRT:
        *scale = rounded_to(type, inlay_sqrt_dim(view->dim));
        break;
    case INLAY_MODEL_SCALE_SQRT_KEY:
        status =
            inlay_settings_integer(settings, key->config, key->gguf, (int64_t)key->otherwise, setting, builder->error);
        if (status == INLAY_FILE_OK && (setting->integer < 1 || view->dim % (uint64_t)setting->integer != 0))
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, NULL, inlay_text_of(builder->tokens_name),
                                   "it has %zu columns, which are no multiple of %lld (%s)", view->dim,
                                   (long long)setting->integer, inlay_setting_origin(setting));
        *scale = rounded_to(type, inlay_sqrt_dim((size_t)setting->integer));
        break;
    }
    return status;
}

inlay_file_status inlay_build_scale(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    struct inlay_setting setting = {0, 0, NULL};
    float scale = 1;
    inlay_file_status status = find_scale(builder, &scale, &setting);
    if (status != INLAY_FILE_OK)
        return status;
    layer->spec.scale = scale * layer->tokens.scale;
    if (!isfinite(layer->spec.scale))
        return inlay_build_fail(builder, INLAY_FILE_ERROR_MODEL,
                                setting.key != NULL ? setting.key : builder->tokens_name,
                                "the factor of token rows is no finite float32");
    if (builder->found.model->scale != INLAY_MODEL_SCALE_ONE)
        inlay_report_line(&layer->report, "scale: %.9g%s%s%s", (double)scale, setting.key != NULL ? " (" : "",
                          setting.key != NULL ? setting.key : "", setting.key != NULL ? ")" : "");
    if (layer->tokens.scale != 1)
        inlay_report_line(&layer->report, "scale of the table: %.9g", (double)layer->tokens.scale);
    return INLAY_FILE_OK;
}
