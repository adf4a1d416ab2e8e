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

enum { INLAY_MOST_FOLLOWING = 12 };

struct inlay_file_layer {
    inlay_layer *layer;
    inlay_layer_spec spec;
    inlay_tuning tuning;
    inlay_sinusoid *sinusoid;
    inlay_file_table tokens, positions, segments;
    float *gamma, *beta, *weights; /**< converted ones; null: they are in the file */
    int64_t start;
    struct inlay_following following[INLAY_MOST_FOLLOWING];
    size_t following_count;
    struct inlay_report report;
};

/** A layer that is being made. */
struct inlay_layer_builder {
    inlay_file *file;
    struct inlay_found_model found;
    const char *tokens_name;         /**< of the tensor with the token table, from inlay_build_tokens() on */
    bool follows[INLAY_MODEL_TERMS]; /**< terms that the layer ends before */
    inlay_file_layer *layer;
    inlay_file_error *error;
};

/** Writes an error of a tensor or key, and returns false. */
bool inlay_build_fail(const struct inlay_layer_builder *builder, inlay_file_status status, const char *name,
                      const char *sentence);

/* The steps, in their order. */
bool inlay_build_tokens(struct inlay_layer_builder *builder);
bool inlay_build_segments(struct inlay_layer_builder *builder);
bool inlay_build_positions(struct inlay_layer_builder *builder);
bool inlay_build_norm(struct inlay_layer_builder *builder);
bool inlay_build_scale(struct inlay_layer_builder *builder);
bool inlay_build_pooling(struct inlay_layer_builder *builder);
