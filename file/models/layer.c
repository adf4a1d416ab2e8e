/* SPDX-License-Identifier: MIT */
/*
 * Input layers of checkpoints: finds the family of a model and the steps after its layer, builds the spec by the terms
 * of builder.h, and owns its memory.
 */
#include "models/builder.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* Adds a step that follows the layer, with the full name of its tensor or null. */
static void add_step(inlay_file_layer *layer, const char *what, const char *tensor)
{
    struct inlay_model_step *step = &layer->following[layer->following_count++];
    step->what = what;
    step->tensor = tensor;
    inlay_report_line(&layer->report, "remaining: %s%s%s", what, tensor != NULL ? ", " : "",
                      tensor != NULL ? tensor : "");
}

/* Adds a step of the family, unless the file lacks its tensor. Returns true if it was added. */
static bool add_following(struct inlay_layer_builder *builder, const char *what, const char *name)
{
    char full[INLAY_MODEL_NAME_ROOM];
    const inlay_file_tensor *tensor = inlay_model_tensor(&builder->found, name, full);
    if ((name != NULL && tensor == NULL) || builder->layer->following_count == INLAY_MAX_FOLLOWING)
        return false;
    add_step(builder->layer, what, tensor != NULL ? tensor->name : NULL);
    return true;
}

/* Adds a term that the layer ends before, if the model has it. */
static void add_term(struct inlay_layer_builder *builder, enum inlay_model_term term)
{
    const struct inlay_model *model = builder->found.model;
    const struct inlay_model_names *names = builder->found.names;
    if (term == INLAY_MODEL_SEGMENTS && names->segments != NULL)
        add_following(builder, "segments", names->segments);
    if (term == INLAY_MODEL_POSITIONS && (names->positions != NULL || model->recipe != 0))
        add_following(builder, "positions", model->recipe != 0 ? NULL : names->positions);
    if (term == INLAY_MODEL_NORM && model->norm != INLAY_NORM_NONE)
        add_following(builder, "norm", names->gamma);
}

/* Adds a step "unknown" if the file has a tensor or setting that may change the rows but isn't used by the family.
   Types of config.json are exempt: tests compare each with transformers, which ignores the same ones. */
static void add_unused(struct inlay_layer_builder *builder)
{
    const struct inlay_found_model *found = &builder->found;
    const char *name = inlay_model_unused_tensor(found), *key = NULL;
    if (found->other != NULL)
        inlay_report_line(&builder->layer->report, "unused: %s names a %s model", found->other_key, found->other->name);
    else if (name == NULL)
        key = inlay_model_unused_setting(found);
    if (name != NULL || key != NULL)
        inlay_report_line(&builder->layer->report, "unused: %s may change the rows, but a %s model does not use it",
                          name != NULL ? name : key, found->model->name);
    if (name != NULL || key != NULL || found->other != NULL)
        add_step(builder->layer, "unknown", name);
}

/* Adds the steps of the model after the layer, in order. */
static void add_all_following(struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    const bool positions_first = model->positions_first;
    const enum inlay_model_term order[] = {positions_first ? INLAY_MODEL_POSITIONS : INLAY_MODEL_SEGMENTS,
                                           positions_first ? INLAY_MODEL_SEGMENTS : INLAY_MODEL_POSITIONS,
                                           INLAY_MODEL_NORM, INLAY_MODEL_END};
    bool is_cut = false;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        for (const struct inlay_model_step *step = model->remaining_ops; step != NULL && step->what != NULL; step++)
            if (step->before == order[i] && add_following(builder, step->what, step->tensor))
                is_cut = true;
        builder->left_out[order[i]] = is_cut;
        if (is_cut)
            add_term(builder, order[i]);
    }
    if (builder->found.assumed_by != NULL) {
        inlay_report_line(&builder->layer->report,
                          "assumed: the table alone, since %s gives the positions and nothing else is known",
                          builder->found.assumed_by);
        add_following(builder, "unknown", NULL);
    } else if (builder->found.is_part) {
        inlay_report_line(&builder->layer->report,
                          "assumed: the layer of its text model; the whole model is not known");
        add_step(builder->layer, "unknown", NULL);
    } else if (builder->found.is_prefix_given) {
        inlay_report_line(&builder->layer->report, "assumed: no other tensor of the file changes the rows");
        add_step(builder->layer, "unknown", NULL);
    } else if (builder->found.settings.type == NULL && builder->layer->following_count == 0)
        add_unused(builder);
}

/* Checks the settings that a family's layer requires. */
static bool check_demanded(const struct inlay_layer_builder *builder)
{
    const struct inlay_model *model = builder->found.model;
    const bool wanted = model->demanded.otherwise != 0;
    struct inlay_setting setting;
    if (!inlay_settings_find(&builder->found.settings, INLAY_SETTING_FLAG, &model->demanded, &setting))
        return false;
    if ((setting.integer != 0) != wanted)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, setting.key,
                               "the input layer of a %s model is known only if this is %s", model->name,
                               wanted ? "true" : "false");
    return true;
}

static bool finish(struct inlay_layer_builder *builder)
{
    inlay_file_layer *layer = builder->layer;
    inlay_fault fault;
    inlay_status made = inlay_layer_spec_check(&layer->spec, &fault);
    if (made == INLAY_OK)
        made = inlay_layer_create(&layer->spec, NULL, &layer->layer);
    if (made == INLAY_ERROR_NO_MEMORY)
        return inlay_file_fail_memory(builder->error, NULL);
    if (made == INLAY_ERROR_ID)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_RANGE, NULL, builder->found.names->mapping,
                               "a value of the mapping is not a row of the table");
    if (made != INLAY_OK)
        return inlay_file_fail(builder->error, INLAY_FILE_ERROR_MODEL, NULL, builder->tokens_name, "%s: %s",
                               fault.field, fault.reason);
    return true;
}

static bool build(struct inlay_layer_builder *builder, const inlay_file_layer_options *options)
{
    builder->out_type = options->out_type;
    const struct inlay_model *model = builder->found.model;
    const char *part = builder->found.part;
    inlay_file_layer *layer = builder->layer = calloc(1, sizeof *layer);
    if (layer == NULL)
        return inlay_file_fail_memory(builder->error, NULL);
    inlay_report_line(&layer->report, "model: %s%s%s (%s)", model->name, part != NULL ? ", " : "",
                      part != NULL ? part : "", builder->found.detected_by);
    inlay_report_choice(&layer->report, builder->found.settings.file);
    if (builder->found.outer_size > 0)
        inlay_report_line(&layer->report, "prefix: %.*s%s", builder->found.outer_size, builder->found.outer,
                          builder->found.is_prefix_given ? " (options)" : " (shared by all tensors)");
    if (!check_demanded(builder) || !inlay_build_tokens(builder))
        return false;
    add_all_following(builder);
    if (!inlay_build_terms(builder))
        return false;
    if (options->tuning != NULL) {
        layer->tuning = *options->tuning;
        layer->spec.tuning = &layer->tuning;
    }
    if (model->first_for_bad_ids) {
        layer->spec.bad_id = INLAY_BAD_ID_SUBSTITUTE;
        inlay_report_line(&layer->report, "ids outside the table take row 0");
    }
    return finish(builder);
}

/* Reads options of this version or of an earlier one, which had no prefix. Returns false if they are unknown. */
static bool read_options(const inlay_file_layer_options *options, inlay_file_layer_options *read)
{
    const size_t without = offsetof(inlay_file_layer_options, prefix);
    const size_t known = options->size == without ? without : sizeof *options;
    if (!inlay_options_known(options, known))
        return false;
    memcpy(read, options, known);
    const inlay_element_type type = read->out_type;
    return read->reserved == 0 && (read->tuning == NULL || inlay_options_known(read->tuning, sizeof *read->tuning)) &&
           (type == INLAY_F32 || type == INLAY_F16 || type == INLAY_BF16);
}

inlay_file_status inlay_file_layer_create(inlay_file *file, const inlay_file_layer_options *options,
                                          inlay_file_layer **layer, inlay_file_error *error)
{
    inlay_file_layer_options read = inlay_file_layer_options_default();
    inlay_file_error unwanted;
    struct inlay_layer_builder builder = {.error = error != NULL ? error : &unwanted};
    if (layer != NULL)
        *layer = NULL;
    if (file == NULL || layer == NULL || (options != NULL && !read_options(options, &read))) {
        inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, NULL, "%s",
                        inlay_file_status_string(INLAY_FILE_ERROR_ARGUMENT));
        return INLAY_FILE_ERROR_ARGUMENT;
    }
    if (!inlay_model_find(file, &read, &builder.found, builder.error) || !build(&builder, &read)) {
        inlay_file_layer_destroy(builder.layer);
        return builder.error->status;
    }
    *layer = builder.layer;
    return INLAY_FILE_OK;
}

void inlay_file_layer_destroy(inlay_file_layer *layer)
{
    if (layer == NULL)
        return;
    inlay_layer_destroy(layer->layer);
    inlay_sinusoid_destroy(layer->sinusoid);
    for (size_t i = 0; i < layer->converted_count; i++)
        free(layer->converted[i]);
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

const char *inlay_file_layer_remaining_op(const inlay_file_layer *layer, size_t index, const char **tensor)
{
    const bool is_there = index < layer->following_count;
    if (tensor != NULL)
        *tensor = is_there ? layer->following[index].tensor : NULL;
    return is_there ? layer->following[index].what : NULL;
}

const char *inlay_file_layer_report(const inlay_file_layer *layer)
{
    return layer->report.text;
}
