/* SPDX-License-Identifier: MIT */
/*
 * Model files, by libinlay-file: opening them, their input layers and n-grams, and calls that read their rows.
 * weights.h takes tables of them. Files come from strangers: what is wrong in one is a message that names it.
 */
#pragma once

#include <inlay/file.h>
#include <inlay/inlay.h>

/** A model, and what was made of it. All zero where there is none. */
struct model {
    inlay_file *file;

    const inlay_layer *layer;
    const inlay_layer_spec *spec;
    int64_t start; /**< position of the first token */

    const inlay_ngram_spec *ngram;
    const inlay_table *tables; /**< [count] of the n-grams */
    size_t count;
    float factor; /**< of all their rows */
};

/** Opens a model, which stays open until the process ends. */
int model_open(const char *path, struct model *model);

/** Opens a model and makes its input layer. */
int model_layer_open(const char *path, struct model *model);

/** Opens a model and finds the hashed n-grams of a layer of it; -1: of the only one. */
int model_ngram_open(const char *path, int64_t layer, struct model *model);

/** Begins a call that reads the rows of ids [n] of a table in a file, and ends it. Nothing without a file. */
void model_read_begin(inlay_file *file, const inlay_table *table, const int64_t *ids, size_t n, inlay_file_read *read);
void model_read_end(inlay_file *file, const inlay_file_read *read);
