/* SPDX-License-Identifier: MIT */
/*
 * A layer while it is made from a checkpoint, and the steps that carry out the rules of its family (models.h), one term
 * of the layer each. Each step changes the spec and adds to the report what the term came from.
 */
#pragma once

#include "models/models.h"
#include "models/report.h"

/** What a model does behind the layer: a step of its family, and the name of its tensor in the file or null. */
struct inlay_following {
    const char *what, *tensor;
};

enum { INLAY_MOST_FOLLOWING = 12, INLAY_MOST_CONVERTED = 3 };

struct inlay_file_layer {
    inlay_layer *layer;
    inlay_layer_spec spec;
    inlay_tuning tuning;
    inlay_sinusoid *sinusoid;
    inlay_file_table tokens, positions, segments;
    float *converted[INLAY_MOST_CONVERTED]; /**< vectors that the file has in other types */
    size_t converted_count;
    int64_t start;
    struct inlay_following following[INLAY_MOST_FOLLOWING];
    size_t following_count;
    struct inlay_report report;
};

/** A layer that is being made. */
struct inlay_layer_builder {
    struct inlay_found_model found;
    const char *tokens_name;         /**< of the tensor with the token table, from inlay_build_tokens() on */
    bool follows[INLAY_MODEL_TERMS]; /**< terms that the layer ends before */
    inlay_file_layer *layer;
    inlay_file_error *error;
};

/* The steps, in their order. */
bool inlay_build_tokens(struct inlay_layer_builder *builder);
bool inlay_build_segments(struct inlay_layer_builder *builder);
bool inlay_build_positions(struct inlay_layer_builder *builder);
bool inlay_build_norm(struct inlay_layer_builder *builder);
bool inlay_build_scale(struct inlay_layer_builder *builder);
bool inlay_build_pooling(struct inlay_layer_builder *builder);
