/* SPDX-License-Identifier: MIT */
/*
 * Model files, through libinlay-file: opening them, their input layers and n-grams, and calls that read their rows.
 * weights.h uses them for tables. Files are untrusted: each error prints a message with the file's name.
 */
#pragma once

#include <inlay/file.h>
#include <inlay/inlay.h>

/** A model and the objects made from it. All zero if absent. */
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

/** Opens a model. It stays open until the process ends. */
int model_open(const char *path, struct model *model);

/** Opens a model and makes its input layer. */
int model_layer_open(const char *path, struct model *model);

/** Opens a model and finds the hashed n-grams of a layer; -1: the only layer with any. */
int model_ngram_open(const char *path, int64_t layer, struct model *model);

/** Begin and end a call that reads the rows ids [n] of a table in a file. They do nothing if the file is null. */
void model_read_begin(inlay_file *file, const inlay_table *table, const int64_t *ids, size_t n, inlay_file_read *read);
void model_read_end(inlay_file *file, const inlay_file_read *read);
