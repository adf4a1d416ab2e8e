/* SPDX-License-Identifier: MIT */
/*
 * Finds the files of a model, and records which files were opened, so callers can query them.
 */
#pragma once

#include "formats/catalog.h"
#include "mapping.h"

/** A tensor and the file that holds it, from an index. */
struct inlay_index_entry {
    const char *tensor;
    const char *file; /**< its name, without a directory */
    size_t part;      /**< of inlay_model_files.paths */
};

/** The files of a model. The catalog owns all strings and arrays. */
struct inlay_model_files {
    const char **paths; /**< [count], in the order of names or parts */
    size_t count;
    const char *index;                 /**< the path of the index, or null */
    const char *directory;             /**< of the index: empty, or ending with a slash */
    struct inlay_index_entry *entries; /**< [entry_count], of the index */
    size_t entry_count;
    const char **lacks; /**< [count], with an index: null, or why a file is unavailable */
};

/** Maps a file of a model as inlay_mapping_open() does, and records it as read. `path` must live as long as the
    catalog. Reports INLAY_FILE_ERROR_MISSING if the file is a Git LFS pointer. */
bool inlay_open_noted(struct inlay_catalog *catalog, const char *path, inlay_file_memory memory, size_t most,
                      struct inlay_mapping *mapping);

/** Returns directory/name, or null. A directory may be empty, or end with a slash. */
char *inlay_join_path(struct inlay_catalog *catalog, const char *directory, const char *name);

/** Finds the files of a model. Opens only config.json, adding its values, and the index. */
bool inlay_find_files(const char *path, struct inlay_catalog *catalog, struct inlay_model_files *files);

/** Reads the index at files->index of a sharded safetensors model: its entries and the paths of its files. */
bool inlay_read_index(struct inlay_catalog *catalog, struct inlay_model_files *files);

/** Records the index's tensors that are missing from their files, after all files are parsed and sorted. */
bool inlay_check_index(struct inlay_catalog *catalog, const struct inlay_model_files *files);

/** Finds a single file next to the index that has all of its tensors; sets *name to it or null. Returns false if
    allocation fails. */
bool inlay_find_complete(struct inlay_catalog *catalog, const struct inlay_model_files *files, const char **name);
