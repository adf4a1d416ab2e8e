/* SPDX-License-Identifier: MIT */
/*
 * Tables for the layer: of float32 rows made by formula, or of any element type read from files.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/model_file.h"
#include "inputs/stored.h"

/** A table [rows, dim] and the memory that it views. All zero where there is none. */
struct weights {
    inlay_table view;
    float factor; /**< of all rows */
    void *arrays[ARRAYS];
    struct model model; /**< that the view points into */
};

/**
 * Makes a table [rows, dim] of float32: the sinusoid itself, where row `id` is position `id`; or where that is null,
 * random numbers, uniform in [-1, 1), a function of seed, id and column in integers: the same on every machine. Only
 * rows that ids [n] name are filled in; pages of the others stay untouched, so that a large id costs address space and
 * no time.
 */
int weights_make(const inlay_sinusoid *sinusoid, int64_t seed, size_t rows, size_t dim, const int64_t *ids, size_t n,
                 struct weights *weights);

/**
 * Loads a table from a .npy file and the files beside it.
 *
 * @param type  0: what the file says by the type of its elements
 * @param dim   0, or the dim that the table must have; rows of u4_rowwise have the same bytes for two dims
 */
int weights_load(const char *path, inlay_element_type type, size_t dim, struct weights *weights);

/**
 * Opens a model file and takes a table of it.
 *
 * @param name  what inlay_file_table_of() takes; null: the only tensor that can be a table, whose name is written there
 * @param dim   0, or the dim that the table must have
 */
int weights_map(const char *path, const char **name, size_t dim, struct weights *weights);
