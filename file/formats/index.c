/* SPDX-License-Identifier: MIT */
/*
 * The index of a sharded safetensors model: a JSON object whose "weight_map" says for each tensor in which file it is.
 * Its file names come from strangers: each must name a file in the directory of the index, without a way into another.
 */
#include "model_files.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INDEX_BYTES = 100000000, MOST_DEPTH = 4 };

/* Reads the members of the weight map into entries [most], or counts them if `entries` is null. False if there is no
   memory. */
static bool take_map(struct inlay_json *json, struct inlay_catalogue *catalogue, struct inlay_index_entry *entries,
                     size_t most, size_t *count)
{
    struct inlay_text tensor, file;
    *count = 0;
    inlay_json_open(json, '{');
    for (; inlay_json_member(json, &tensor) && inlay_json_string(json, &file); ++*count) {
        /* 1 branch never taken: the members were counted, and the bytes are a copy that nobody changes. */
        if (entries == NULL || *count == most)
            continue;
        const char *name = inlay_catalogue_string(catalogue, "", tensor).bytes;
        const char *file_name = inlay_catalogue_string(catalogue, "", file).bytes;
        if (name == NULL || file_name == NULL)
            return false;
        entries[*count] = (struct inlay_index_entry){.tensor = name, .file = file_name};
    }
    return true;
}

/* Reads the members of the index. */
static bool parse(struct inlay_json *json, struct inlay_catalogue *catalogue, struct inlay_model_files *files)
{
    struct inlay_text key;
    inlay_json_open(json, '{');
    while (inlay_json_member(json, &key)) {
        if (!inlay_json_means(key, "weight_map")) {
            inlay_json_skip(json);
            continue;
        }
        struct inlay_json counting = inlay_json_ahead(json);
        take_map(&counting, catalogue, NULL, 0, &files->entry_count);
        files->entries = inlay_catalogue_memory(catalogue, files->entry_count * sizeof *files->entries);
        if (files->entries == NULL ||
            !take_map(json, catalogue, files->entries, files->entry_count, &files->entry_count))
            return false;
    }
    if (!inlay_json_end(json))
        return inlay_catalogue_fail_json(catalogue, json, NULL, "");
    if (files->entry_count == 0)
        return inlay_file_fail(catalogue->error, INLAY_FILE_ERROR_MISSING, files->index, "weight_map",
                               "the index names no tensors");
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    const struct inlay_index_entry *first = a, *second = b;
    int files = strcmp(first->file, second->file);
    return files != 0 ? files : strcmp(first->tensor, second->tensor);
}

/* Sorts the entries by files, and makes the path of each file. */
static bool find_paths(struct inlay_catalogue *catalogue, struct inlay_model_files *files)
{
    const char *slash = strrchr(files->index, '/');
    size_t directory = slash != NULL ? (size_t)(slash + 1 - files->index) : 0;
    qsort(files->entries, files->entry_count, sizeof *files->entries, compare_entries);
    files->paths = inlay_catalogue_memory(catalogue, files->entry_count * sizeof *files->paths);
    if (files->paths == NULL)
        return false;
    for (size_t i = 0; i < files->entry_count; i++) {
        struct inlay_index_entry *entry = &files->entries[i];
        if (i > 0 && strcmp(entry->file, entry[-1].file) == 0) {
            entry->path = entry[-1].path;
            continue;
        }
        if (strchr(entry->file, '/') != NULL || entry->file[0] == '.' || entry->file[0] == '\0')
            return inlay_file_fail(catalogue->error, INLAY_FILE_ERROR_SYNTAX, files->index, entry->tensor,
                                   "its file is no name in the directory of the index");
        const size_t file_bytes = strlen(entry->file) + 1;
        char *path = inlay_catalogue_memory(catalogue, directory + file_bytes);
        if (path == NULL)
            return false;
        memcpy(path, files->index, directory);
        memcpy(path + directory, entry->file, file_bytes);
        entry->path = files->paths[files->count++] = path;
    }
    return true;
}

bool inlay_read_index(struct inlay_catalogue *catalogue, struct inlay_model_files *files)
{
    struct inlay_mapping mapping;
    struct inlay_json json;
    if (!inlay_open_noted(catalogue, files->index, INLAY_FILE_MEMORY_COPIED, MOST_INDEX_BYTES, &mapping))
        return false;
    inlay_json_start(&json, mapping.bytes, mapping.size, MOST_DEPTH);
    const bool is_read = parse(&json, catalogue, files);
    inlay_json_finish(&json);
    inlay_mapping_close(&mapping);
    return is_read && find_paths(catalogue, files);
}

bool inlay_check_index(const struct inlay_catalogue *catalogue, const struct inlay_model_files *files)
{
    for (size_t i = 0; i < files->entry_count; i++) {
        const struct inlay_index_entry *entry = &files->entries[i];
        const inlay_file_tensor *tensor = inlay_catalogue_tensor(catalogue, entry->tensor);
        if (tensor == NULL || tensor->path != entry->path)
            return inlay_file_fail(catalogue->error, INLAY_FILE_ERROR_MISSING, files->index, entry->tensor,
                                   "this tensor is not in %s, where the index says", entry->file);
    }
    return true;
}
