/* SPDX-License-Identifier: MIT */
/*
 * The step of builder.h for static embeddings: the mean of the rows of a text, by way of a mapping of ids and with a
 * weight for each.
 */
#include "models/builder.h"
#include "models/vectors.h"

static inlay_file_status add_mapping(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    const inlay_file_tensor *mapping, *weights;
    inlay_file_status status = inlay_build_tensor(builder, builder->found.names->mapping, &mapping);
    if (status == INLAY_FILE_OK)
        status = inlay_build_tensor(builder, builder->found.names->weights, &weights);
    size_t ids = layer->tokens.view.rows;
    const char *of_ids = builder->tokens_name;
    if (status == INLAY_FILE_OK && mapping != NULL) {
        status = inlay_vector_id_type(mapping, &layer->spec.token_mapping_type, builder->error);
        layer->spec.token_mapping = mapping->data;
        layer->spec.token_mapping_length = ids = (size_t)mapping->shape[0];
        of_ids = mapping->name;
        inlay_report_tensor(&layer->report, "mapping", mapping);
    }
    if (status == INLAY_FILE_OK && weights != NULL) {
        status = inlay_vector_floats(weights, &layer->spec.token_weights, &layer->weights, builder->error);
        layer->spec.token_weights_length = ids;
        inlay_report_tensor(&layer->report, layer->weights != NULL ? "weights, as float32" : "weights", weights);
        if (status == INLAY_FILE_OK && weights->shape[0] != ids)
            return inlay_file_fail(builder->error, INLAY_FILE_ERROR_SHAPE, weights->path, inlay_text_of(weights->name),
                                   "it has %llu elements, and %s has %zu", (unsigned long long)weights->shape[0],
                                   of_ids, ids);
    }
    return status;
}

inlay_file_status inlay_build_pooling(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    inlay_file_layer *layer = builder->layer;
    if (model->pooling == INLAY_POOLING_NONE)
        return INLAY_FILE_OK;
    struct inlay_setting normalize = {0, 0, NULL};
    inlay_file_status status = add_mapping(builder);
    if (status == INLAY_FILE_OK && model->normalize != NULL)
        status =
            inlay_settings_flag(&builder->found.settings, model->normalize, NULL, false, &normalize, builder->error);
    if (status != INLAY_FILE_OK)
        return status;
    layer->spec.pooling = model->pooling;
    inlay_report_line(&layer->report, "pooling: mean");
    if (normalize.integer) {
        layer->spec.norm = INLAY_NORM_L2;
        layer->spec.epsilon = (float)model->epsilon.otherwise;
        inlay_report_line(&layer->report, "norm: L2, epsilon %g (%s)", model->epsilon.otherwise, normalize.key);
    }
    return INLAY_FILE_OK;
}
