/* SPDX-License-Identifier: MIT */
/*
 * The files of a model: which they are, and how one of them is opened so that callers can ask later what was read.
 */
#pragma once

#include "formats/catalogue.h"
#include "mapping.h"

/** A tensor and the file that an index says to hold it. */
struct inlay_index_entry {
    const char *tensor;
    const char *file; /**< its name, without a directory */
    size_t part;      /**< of inlay_model_files.paths */
};

/** The files of a model. All strings and arrays lie in the memory of a catalogue. */
struct inlay_model_files {
    const char **paths; /**< [count], in the order of names or parts */
    size_t count;
    const char *index;                 /**< the path of the index, or null */
    struct inlay_index_entry *entries; /**< [entry_count], of the index */
    size_t entry_count;
    const char **lacks; /**< [count], of an index: null, or what is wrong with a file that is not there */
};

/** Maps a file of a model as inlay_mapping_open() does, and notes it among those that were read. `path` lives as long
   as the catalogue. INLAY_FILE_ERROR_MISSING if it is a pointer of Git LFS. */
bool inlay_open_noted(struct inlay_catalogue *catalogue, const char *path, inlay_file_memory memory, size_t most,
                      struct inlay_mapping *mapping);

/** Finds the files of a model. Opens none but a config.json, whose values it adds, and an index. */
bool inlay_find_files(const char *path, struct inlay_catalogue *catalogue, struct inlay_model_files *files);

/** Reads the index at files->index, of a safetensors model in several files: its entries and the paths of its files. */
bool inlay_read_index(struct inlay_catalogue *catalogue, struct inlay_model_files *files);

/** Notes the tensors of the index that are not in the file that the index says, when all are parsed and sorted. */
bool inlay_check_index(struct inlay_catalogue *catalogue, const struct inlay_model_files *files);

/** Finds the name of a single file next to the index that has all tensors of it, or null. False if there is no memory.
 */
bool inlay_find_complete(struct inlay_catalogue *catalogue, const struct inlay_model_files *files, const char **name);
