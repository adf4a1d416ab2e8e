/* SPDX-License-Identifier: MIT */
/*
 * What a layer holds, and how the options of inlay.Layer() become it.
 */
#pragma once

#include "layers/call.h"

struct layer {
    PyObject base;
    inlay_vectorcall call;
    struct layer_facts facts;
    inlay_layer *handle;                     /* null: that of `of_file` */
    inlay_file_layer *of_file;               /* null: the layer was made of options */
    struct open_file *file;                  /* that of_file is of */
    PyObject *tokens, *positions, *segments; /* Tables, or a Formula of positions */
    struct view gamma, beta, token_mapping, token_weights;
    PyObject *weak_references;
};

struct layer_options {
    PyObject *table, *scale, *positions, *segments, *norm, *padding_id, *bad_id, *substitute_id, *zero_rows,
        *position_mode, *pooling, *dtype, *stores, *cached_positions, *threads, *token_mapping, *token_weights;
    int clamp_positions, segments_first, learning;
};

/* Makes the layer that options describe. Returns -1 with an exception. */
int layer_fill(struct layer *layer, const struct layer_options *given);

/* Sets what calls need to know of a layer with tokens and threads. */
void layer_set_facts(struct layer *layer, const inlay_layer_spec *spec, const inlay_layer *handle);
