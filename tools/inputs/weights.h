/* SPDX-License-Identifier: MIT */
/*
 * Tables for the layer: float32 rows computed by a formula, or rows of any element type from files.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/model_file.h"
#include "inputs/stored.h"

/** A table [rows, dim] and the memory that it views. All zero if absent. */
struct weights {
    inlay_table view;
    float factor; /**< factor of all rows */
    void *arrays[ARRAYS];
    struct model model; /**< the view may point into it */
};

/**
 * Makes a float32 table [rows, dim]. With a sinusoid, row `id` is position `id`. Otherwise rows are random, uniform in
 * [-1, 1). They are computed from seed, id and column with integers, so they are the same on every machine. Only the
 * rows in ids [n] are filled. Pages of other rows stay untouched, so a large id takes address space but no time.
 */
int weights_make(const inlay_sinusoid *sinusoid, int64_t seed, size_t rows, size_t dim, const int64_t *ids, size_t n,
                 struct weights *weights);

/**
 * Loads a table from a .npy file and its files of scales and zero points.
 *
 * @param type  0: from the type of the file's elements
 * @param dim   required dim, or 0 for any; needed for 4-bit types without blocks, as rows of two dims have the same
 * size
 */
int weights_load(const char *path, inlay_element_type type, size_t dim, struct weights *weights);

/**
 * Opens a model file and makes a view of one of its tables.
 *
 * @param name  a name for inlay_file_get_table(). Null: use the only tensor that can be a table, and store its name
 *              here
 * @param dim   required dim, or 0
 */
int weights_map(const char *path, const char **name, size_t dim, struct weights *weights);
