/* SPDX-License-Identifier: MIT */
/*
 * The step of builder.h for static embeddings: the mean of the rows of a text, by way of a mapping of ids and with a
 * weight for each.
 */
#include "models/builder.h"
#include "models/vectors.h"

static bool add_mapping(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    const struct inlay_model_names *names = builder->found.names;
    char full[INLAY_MODEL_NAME_ROOM];
    const inlay_file_tensor *mapping = inlay_model_tensor(&builder->found, names->mapping, full);
    const inlay_file_tensor *weights = inlay_model_tensor(&builder->found, names->weights, full);
    size_t ids = layer->tokens.view.rows;
    const char *of_ids = builder->tokens_name;
    if (mapping != NULL) {
        if (!inlay_vector_id_type(mapping, &layer->spec.token_mapping_type, builder->error))
            return false;
        layer->spec.token_mapping = mapping->data;
        layer->spec.token_mapping_length = ids = (size_t)mapping->shape[0];
        of_ids = mapping->name;
        inlay_report_tensor(&layer->report, "mapping", mapping);
    }
    if (weights != NULL) {
        if (!inlay_vector_floats(weights, &layer->spec.token_weights, &layer->weights, builder->error))
            return false;
        layer->spec.token_weights_length = ids;
        inlay_report_tensor(&layer->report, layer->weights != NULL ? "weights, as float32" : "weights", weights);
        if (weights->shape[0] != ids)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, weights->path, weights->name,
                                   "it has %llu elements, and %s has %zu", (unsigned long long)weights->shape[0],
                                   of_ids, ids);
    }
    return true;
}

bool inlay_build_pooling(struct inlay_layer_builder *builder)
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
