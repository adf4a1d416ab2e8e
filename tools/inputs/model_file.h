/* SPDX-License-Identifier: MIT */
/*
 * Model files, through libinlay-file: opens files, makes their input layers and n-grams, and reads the rows of calls
 * from disk. weights.h uses these functions for tables. Files are untrusted: each error prints a message with the
 * file's name.
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
    const inlay_table *tables; /**< [count], the tables of the n-grams */
    size_t count;
    float factor; /**< factor of all rows of the tables */
};

/** Opens a model. It stays open until the process ends. */
int model_open(const char *path, struct model *model);

/** Opens a model and makes its input layer. `prefix` is that of the layer's tensors; null: the usual names. */
int model_layer_open(const char *path, const char *prefix, struct model *model);

/** Opens a model and finds the hashed n-grams of a layer; -1: the only layer with any. */
int model_ngram_open(const char *path, int64_t layer, struct model *model);

/** Call these before and after a call that reads the rows ids [n] of a table in a file. They do nothing if the file is
   null. */
void model_read_begin(inlay_file *file, const inlay_table *table, const int64_t *ids, size_t n, inlay_file_read *read);
void model_read_end(inlay_file *file, const inlay_file_read *read);
