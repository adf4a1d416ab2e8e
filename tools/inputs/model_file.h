/* SPDX-License-Identifier: MIT */
/*
 * What the commands take from model files: tables and input layers. model_file.c reads them by libinlay-file; the build
 * takes model_file_none.c instead where that library is not built. Files come from strangers: what is wrong in one is a
 * message that names it.
 */
#pragma once

#include <inlay/file.h>
#include <inlay/inlay.h>

/** The formats of model files that this build reads, or "none". */
extern const char model_formats[];

/** Prints the tensors and the metadata of a model, and what is known of its input layer. */
int model_print(const char *path);

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

/**
 * Opens a model and makes a view of a table of it.
 *
 * @param name    what inlay_file_table_of() takes; null: the only tensor that can be a table, whose name is written
 * there
 * @param factor  written: that of all rows
 */
int model_table_open(const char *path, const char **name, struct model *model, inlay_table *view, float *factor);

/** Opens a model and makes its input layer. */
int model_layer_open(const char *path, struct model *model);

/** Opens a model and finds the hashed n-grams of a layer of it; -1: of the only one. */
int model_ngram_open(const char *path, int64_t layer, struct model *model);

/** Begins a call that reads the rows of ids [n] of a table in a file, and ends it. Nothing without a file. */
void model_read_begin(inlay_file *file, const inlay_table *table, const int64_t *ids, size_t n, inlay_file_read *read);
void model_read_end(inlay_file *file, const inlay_file_read *read);
