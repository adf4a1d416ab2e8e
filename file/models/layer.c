/* SPDX-License-Identifier: MIT */
/*
 * Input layers of checkpoints: finds the family of a model, lets the steps of builder.h make the spec of its layer, and
 * holds what that needs.
 */
#include "models/builder.h"
#include "options.h"

#include <stdlib.h>

/* Says if the row of padding, which the layer takes as zeros, is none. */
static inlay_file_status look_at_padding(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    const size_t dim = layer->tokens.view.dim;
    if (layer->spec.padding_id < 0)
        return INLAY_FILE_OK;
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
    return INLAY_FILE_OK;
}

static inlay_file_status finish(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    inlay_status made = inlay_layer_create(&layer->spec, NULL, &layer->layer);
    if (made == INLAY_ERROR_NO_MEMORY || (made == INLAY_OK && layer->report.failed))
        return inlay_file_fail_memory(builder->error, NULL);
    if (made == INLAY_ERROR_ID)
        return inlay_build_fail(builder, INLAY_FILE_ERROR_RANGE, builder->found.names->mapping + 1,
                                "a value of the mapping is no row of the table");
    if (made != INLAY_OK)
        return inlay_build_fail(builder, INLAY_FILE_ERROR_MODEL, builder->tokens_name, inlay_status_string(made));
    return INLAY_FILE_OK;
}

static inlay_file_status build(struct inlay_layer_builder *builder, const inlay_file_layer_options *options)
{
    static inlay_file_status (*const steps[])(struct inlay_layer_builder *) = {
        inlay_build_tokens, inlay_build_segments, inlay_build_positions, inlay_build_norm,
        inlay_build_scale,  inlay_build_pooling,  look_at_padding};
    const struct inlay_model *model = builder->found.model;
    inlay_report_line(&builder->layer->report, "model: %s%s%s (%s)", model->name, model->part != NULL ? ", " : "",
                      model->part != NULL ? model->part : "", builder->found.told_by);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        inlay_file_status status = steps[i](builder);
        if (status != INLAY_FILE_OK)
            return status;
    }
    builder->layer->spec.out_type = options->out_type;
    if (options->tuning != NULL) {
        builder->layer->tuning = *options->tuning;
        builder->layer->spec.tuning = &builder->layer->tuning;
    }
    if (model->first_for_bad_ids) {
        builder->layer->spec.bad_id = INLAY_BAD_ID_SUBSTITUTE;
        inlay_report_line(&builder->layer->report, "ids outside the table take row 0");
    }
    return finish(builder);
}

static bool options_known(const inlay_file_layer_options *options)
{
    if (!inlay_options_known(options, sizeof *options))
        return false;
    const inlay_element_type type = options->out_type;
    return options->reserved == 0 &&
           (options->tuning == NULL || inlay_options_known(options->tuning, sizeof *options->tuning)) &&
           (type == INLAY_F32 || type == INLAY_F16 || type == INLAY_BF16);
}

inlay_file_status inlay_file_layer_create(inlay_file *file, const inlay_file_layer_options *options,
                                          inlay_file_layer **layer, inlay_file_error *error)
{
    const inlay_file_layer_options standard = inlay_file_layer_options_default();
    if (layer != NULL)
        *layer = NULL;
    if (options == NULL)
        options = &standard;
    if (file == NULL || layer == NULL || !options_known(options))
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, inlay_text_of(NULL), "%s",
                               inlay_file_status_string(INLAY_FILE_ERROR_ARGUMENT));
    struct inlay_layer_builder builder = {.file = file, .error = error};
    inlay_file_status status = inlay_model_find(file, options->model, options->part, &builder.found, error);
    if (status != INLAY_FILE_OK)
        return status;
    builder.layer = calloc(1, sizeof *builder.layer);
    if (builder.layer == NULL)
        return inlay_file_fail_memory(error, NULL);
    status = build(&builder, options);
    if (status == INLAY_FILE_OK)
        *layer = builder.layer;
    else
        inlay_file_layer_destroy(builder.layer);
    return status;
}

void inlay_file_layer_destroy(inlay_file_layer *layer)
{
    if (layer == NULL)
        return;
    inlay_layer_destroy(layer->layer);
    inlay_sinusoid_destroy(layer->sinusoid);
    free(layer->gamma);
    free(layer->beta);
    free(layer->weights);
    inlay_report_release(&layer->report);
    free(layer);
}

const inlay_layer *inlay_file_layer_get(const inlay_file_layer *layer)
{
    return layer->layer;
}

const inlay_layer_spec *inlay_file_layer_spec(const inlay_file_layer *layer)
{
    return &layer->spec;
}

int64_t inlay_file_layer_start(const inlay_file_layer *layer)
{
    return layer->start;
}

const char *inlay_file_layer_report(const inlay_file_layer *layer)
{
    return layer->report.text;
}
