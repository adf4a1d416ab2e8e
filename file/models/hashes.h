/* SPDX-License-Identifier: MIT */
/*
 * Kinds of hashed n-gram embeddings and what their parts are called, as data, and the search for a layer's table and
 * for the constants of its hash: tensors beside the table, tensors or metadata of the whole model, config.json.
 */
#pragma once

#include "models/report.h"
#include "models/settings.h"

/** The arrays of a hash. The first and the last are of the whole model, the others of a layer. */
enum inlay_hash_part {
    INLAY_HASH_LAYERS,
    INLAY_HASH_MULTIPLIERS,
    INLAY_HASH_MODULI,
    INLAY_HASH_OFFSETS,
    INLAY_HASH_TOKEN_MAP,
    INLAY_HASH_PARTS
};

/** Where the integers of an array are. Null names are not looked for. */
struct inlay_hash_array {
    const char *what;          /**< for reports and messages; null: the kind has no such array */
    const char *beside;        /**< a tensor of the layer, behind the stem of its table's name */
    const char *tensors[2];    /**< tensors of the whole model, [layers, ...] */
    const char *config, *gguf; /**< keys of the whole model, [layers, ...] */
};

/** A kind of n-gram embedding. */
struct inlay_hash_kind {
    const char *name;
    const char *tables[5];    /**< ends of the names of tables, with one * where several tensors hold the rows */
    const char *architecture; /**< general.architecture of files that have only one table, whose name has no stem */
    struct inlay_hash_array arrays[INLAY_HASH_PARTS];
    const char *pad_config, *pad_gguf; /**< keys of the id that blocked places take */
    bool pad_resets;                   /**< that id also ends a text */
    const char *mask_config;           /**< key of an id that blocks its place */
};

/** The table of a layer, and which layer that is. */
struct inlay_hash_table {
    const struct inlay_hash_kind *kind;
    char name[256];       /**< of its tensor, or a pattern for inlay_file_table_of() */
    char stem[256];       /**< of the names beside it */
    long long layer;      /**< -1: no number is known */
    size_t slice, slices; /**< which layer it is of those in arrays of the whole model, and their number */
};

/** Integers in memory to free() later. */
struct inlay_integers {
    int64_t *values;
    size_t count;
};

/** Finds the table of a layer, or with layer -1 the only one. */
bool inlay_hash_find(const struct inlay_settings *settings, long long layer, struct inlay_hash_table *table);

/** Reads and reports the integers of an array, of which those of the whole model have the slices of their layers. None,
    if the file has none. */
bool inlay_hash_read(const struct inlay_settings *settings, const struct inlay_hash_table *table,
                     enum inlay_hash_part part, struct inlay_integers *integers, struct inlay_report *report);
