/* SPDX-License-Identifier: MIT */
/*
 * A layer while it is made from a checkpoint: layer.c finds its family (models.h), terms.c carries out the rules of the
 * family, a term of the layer each. A term changes the spec and adds to the report where it is from.
 */
#pragma once

#include "models/models.h"
#include "models/report.h"

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
    struct inlay_model_step following[INLAY_MOST_FOLLOWING]; /**< named as in the file; no `before` */
    size_t following_count;
    struct inlay_report report;
};

/** A layer that is being made. */
struct inlay_layer_builder {
    struct inlay_found_model found;
    const char *tokens_name;         /**< of the tensor with the token table, from inlay_build_tokens() on */
    bool follows[INLAY_MODEL_TERMS]; /**< terms that the layer ends before */
    inlay_element_type out_type;
    inlay_file_layer *layer;
    inlay_file_error *error;
};

/** Finds the token table and begins the spec. */
bool inlay_build_tokens(struct inlay_layer_builder *builder);

/** Adds the other terms of the layer, without those that it ends before. */
bool inlay_build_terms(struct inlay_layer_builder *builder);
