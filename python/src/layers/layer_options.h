/* SPDX-License-Identifier: MIT */
/*
 * The struct of a layer, and the options of inlay.Layer().
 */
#pragma once

#include "layers/call.h"

struct layer {
    PyObject base;
    inlay_vectorcall call;
    struct layer_facts facts;
    inlay_layer *handle;                     /* null: of_file has the handle */
    inlay_file_layer *of_file;               /* null: the layer was made from options */
    struct open_file *file;                  /* the file of of_file */
    PyObject *tokens, *positions, *segments; /* Tables; positions may be a Formula */
    struct view gamma, beta, token_mapping, token_weights;
    PyObject *weak_references;
};

struct layer_options {
    PyObject *table, *scale, *positions, *segments, *norm, *padding_id, *bad_id, *substitute_id, *zero_rows,
        *position_mode, *pooling, *dtype, *stores, *cached_positions, *threads, *token_mapping, *token_weights;
    int clamp_positions, segments_first, self_tuning;
};

/* Makes a layer from options. Returns -1 with an exception set on failure. */
int layer_fill(struct layer *layer, const struct layer_options *given);

/* Sets the facts of a layer. Its tokens and threads must be set. */
void layer_set_facts(struct layer *layer, const inlay_layer_spec *spec, const inlay_layer *handle);
