/* SPDX-License-Identifier: MIT */
/*
 * Kinds of hashed n-gram embeddings and what their parts are called, as data, and the search for a layer's table and
 * for the constants of its hash: tensors beside the table, tensors or metadata of the whole model, config.json.
 */
#ifndef INLAY_FILE_HASHES_H
#define INLAY_FILE_HASHES_H

#include "models/report.h"
#include "models/settings.h"

/** Where the integers of an array are. Null names are not looked for. */
struct inlay_hash_array {
    const char *what;          /**< for reports and messages */
    const char *beside;        /**< a tensor of the layer, behind the stem of its table's name */
    const char *tensors[2];    /**< tensors of the whole model, [layers, ...] */
    const char *config, *gguf; /**< keys of the whole model, [layers, ...] */
};

/** A kind of n-gram embedding. */
struct inlay_hash_kind {
    const char *name;
    const char *tables[5];    /**< ends of the names of tables, with one * where several tensors hold the rows */
    const char *architecture; /**< general.architecture of files that have only one table, whose name has no stem */
    struct inlay_hash_array layers, multipliers, moduli, offsets, token_map;
    bool has_map;                      /**< ids have a number, and without a map there are no n-grams */
    const char *pad_config, *pad_gguf; /**< keys of the id that blocked places take */
    bool pad_resets;                   /**< that id also ends a text */
    const char *mask_config;           /**< key of an id that blocks its place */
};

/** The table of a layer, and which layer that is. */
struct inlay_hash_table {
    const struct inlay_hash_kind *kind;
    char name[256]; /**< of its tensor, or a pattern for inlay_file_table_of() */
    char stem[256]; /**< of the names beside it */
    int64_t layer;  /**< -1: no number is known */
};

/** Integers in memory to free() later. */
struct inlay_integers {
    int64_t *values;
    size_t count;
};

/** Finds the table of a layer, or with layer -1 the only one. */
inlay_file_status inlay_hash_find(const inlay_file *file, int64_t layer, struct inlay_hash_table *table,
                                  inlay_file_error *error);

/**
 * Reads the integers of an array for one layer, and reports them.
 *
 * @param slice     which layer it is of those in arrays of the whole model
 * @param slices    number of these layers; 1 for an array that all layers share
 * @param integers  where to write them; none, if the file has none
 */
inlay_file_status inlay_hash_read(const struct inlay_settings *settings, const struct inlay_hash_table *table,
                                  const struct inlay_hash_array *array, size_t slice, size_t slices,
                                  struct inlay_integers *integers, struct inlay_report *report,
                                  inlay_file_error *error);

#endif
