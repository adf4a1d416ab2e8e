/* SPDX-License-Identifier: MIT */
/*
 * Builds a layer from a checkpoint: layer.c finds its family (models.h), and terms.c applies the family's rules, one
 * per term of the layer. Each term changes the spec and adds its source to the report.
 */
#pragma once

#include "models/models.h"
#include "models/report.h"

enum { INLAY_MAX_FOLLOWING = 12, INLAY_MAX_CONVERTED = 3 };

struct inlay_file_layer {
    inlay_layer *layer;
    inlay_layer_spec spec;
    inlay_tuning tuning;
    inlay_sinusoid *sinusoid;
    inlay_file_table tokens, positions, segments;
    float *converted[INLAY_MAX_CONVERTED]; /**< vectors that were converted from other types */
    size_t converted_count;
    int64_t start;
    struct inlay_model_step following[INLAY_MAX_FOLLOWING]; /**< with the file's tensor names, without `before` */
    size_t following_count;
    struct inlay_report report;
};

/** A layer under construction. */
struct inlay_layer_builder {
    struct inlay_found_model found;
    const char *tokens_name;          /**< of the tensor with the token table, from inlay_build_tokens() on */
    bool left_out[INLAY_MODEL_TERMS]; /**< terms left out because the layer ends before them */
    inlay_element_type out_type;
    inlay_file_layer *layer;
    inlay_file_error *error;
};

/** Finds the token table and starts the spec. */
bool inlay_build_tokens(struct inlay_layer_builder *builder);

/** Adds the other terms of the layer, except those that it ends before. */
bool inlay_build_terms(struct inlay_layer_builder *builder);
