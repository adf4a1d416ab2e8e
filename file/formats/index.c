/* SPDX-License-Identifier: MIT */
/*
 * The index of a sharded safetensors model: a JSON object with a "weight_map" from tensors to files. File names are
 * untrusted: each must be in the directory of the index, without a path to another one. Missing files and tensors are
 * errors only if one of these tensors is needed.
 */
#include "model_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INDEX_BYTES = 100000000, MAX_DEPTH = 4 };

/* Reads the members of the weight map. Returns false if allocation fails. */
static bool take_map(struct inlay_json *json, struct inlay_catalog *catalog, struct inlay_model_files *files)
{
    struct inlay_text tensor, file;
    struct inlay_json counting = *json;
    inlay_json_open(&counting, '{');
    while (inlay_json_member(&counting, &tensor) && inlay_json_string(&counting, &file))
        files->entry_count++;
    if (files->entry_count > INLAY_MAX_TENSORS)
        inlay_json_refuse(json, INLAY_FILE_ERROR_LIMIT, "the index names too many tensors");
    struct inlay_index_entry *entry = inlay_catalog_memory(catalog, files->entry_count * sizeof *entry);
    files->entries = entry;
    if (entry == NULL)
        return false;
    inlay_json_open(json, '{');
    for (; inlay_json_member(json, &tensor) && inlay_json_string(json, &file); entry++) {
        entry->tensor = inlay_catalog_string(catalog, "", tensor).bytes;
        entry->file = inlay_catalog_string(catalog, "", file).bytes;
        if (entry->tensor == NULL || entry->file == NULL)
            return false;
    }
    return true;
}

/* Reads the members of the index. */
static bool parse(struct inlay_json *json, struct inlay_catalog *catalog, struct inlay_model_files *files)
{
    struct inlay_text key;
    inlay_json_open(json, '{');
    while (inlay_json_member(json, &key)) {
        if (!inlay_json_means(key, "weight_map"))
            inlay_json_skip(json);
        else if (files->entries != NULL)
            inlay_json_refuse(json, INLAY_FILE_ERROR_DUPLICATE, "the index has a second weight_map");
        else if (!take_map(json, catalog, files))
            return false;
    }
    if (!inlay_json_end(json))
        return inlay_catalog_fail_json(catalog, json, NULL, "");
    if (files->entry_count == 0)
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_MISSING, files->index, "weight_map",
                               "the index names no tensors");
    return true;
}

static int compare_tensors(const void *a, const void *b)
{
    const struct inlay_index_entry *first = a, *second = b;
    return strcmp(first->tensor, second->tensor);
}

static int compare_entries(const void *a, const void *b)
{
    const struct inlay_index_entry *first = a, *second = b;
    int files = strcmp(first->file, second->file);
    return files != 0 ? files : compare_tensors(a, b);
}

/* Rejects a tensor that occurs twice, sorts the entries by file, and sets the path of each file. */
static bool find_paths(struct inlay_catalog *catalog, struct inlay_model_files *files)
{
    qsort(files->entries, files->entry_count, sizeof *files->entries, compare_tensors);
    for (size_t i = 1; i < files->entry_count; i++)
        if (compare_tensors(&files->entries[i - 1], &files->entries[i]) == 0)
            return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_DUPLICATE, files->index, files->entries[i].tensor,
                                   "the index has this tensor twice");
    qsort(files->entries, files->entry_count, sizeof *files->entries, compare_entries);
    files->paths = inlay_catalog_memory(catalog, 2 * files->entry_count * sizeof *files->paths);
    if (files->paths == NULL)
        return false;
    files->lacks = files->paths + files->entry_count;
    for (size_t i = 0; i < files->entry_count; i++) {
        struct inlay_index_entry *entry = &files->entries[i];
        if (i > 0 && strcmp(entry->file, entry[-1].file) == 0) {
            entry->part = files->count - 1;
            continue;
        }
        if (strchr(entry->file, '/') != NULL || entry->file[0] == '.' || entry->file[0] == '\0')
            return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_SYNTAX, files->index, entry->tensor,
                                   "its file must be a plain name in the directory of the index");
        const char *path = inlay_join_path(catalog, files->directory, entry->file);
        if (path == NULL)
            return false;
        entry->part = files->count;
        files->lacks[files->count] = NULL;
        files->paths[files->count++] = path;
    }
    return true;
}

bool inlay_read_index(struct inlay_catalog *catalog, struct inlay_model_files *files)
{
    struct inlay_mapping mapping;
    struct inlay_json json;
    if (!inlay_open_noted(catalog, files->index, INLAY_FILE_MEMORY_COPIED, MAX_INDEX_BYTES, &mapping))
        return false;
    inlay_json_start(&json, mapping.bytes, mapping.size, MAX_DEPTH);
    const bool is_read = parse(&json, catalog, files);
    inlay_mapping_close(&mapping);
    return is_read && find_paths(catalog, files);
}

/* Returns true if a tensor is in the file given by the index. */
static bool is_there(const struct inlay_catalog *catalog, const struct inlay_model_files *files, size_t entry)
{
    const inlay_file_tensor *tensor = inlay_catalog_tensor(catalog, files->entries[entry].tensor);
    return tensor != NULL && tensor->path == files->paths[files->entries[entry].part];
}

/* Ends the sentence that a file lacks a tensor; null if allocation fails. */
static const char *make_reason(struct inlay_catalog *catalog, const char *lacks, const char *complete)
{
    const size_t bytes = strlen(lacks) + (complete != NULL ? strlen(complete) : 0) + 64;
    char *reason = inlay_catalog_memory(catalog, bytes);
    if (reason != NULL)
        snprintf(reason, bytes, "%s%s%s%s", lacks, complete != NULL ? "; open " : "", complete != NULL ? complete : "",
                 complete != NULL ? ", which has all tensors of the index" : "");
    return reason;
}

bool inlay_check_index(struct inlay_catalog *catalog, const struct inlay_model_files *files)
{
    size_t count = 0, made = 0, whole = 0;
    for (size_t i = 0; i < files->entry_count; i++)
        count += !is_there(catalog, files, i);
    for (size_t part = 0; part < files->count; part++)
        whole += files->lacks[part] == NULL;
    if (count == 0)
        return true;
    const char *complete, *reason = NULL;
    if (!inlay_find_complete(catalog, files, &complete))
        return false;
    inlay_file_tensor *absent = inlay_catalog_memory(catalog, count * sizeof *absent);
    if (absent == NULL)
        return false;
    for (size_t i = 0; i < files->entry_count; i++) {
        const struct inlay_index_entry *entry = &files->entries[i];
        if (is_there(catalog, files, i))
            continue;
        const char *lacks = files->lacks[entry->part], *path = files->paths[entry->part];
        if (made == 0 || path != absent[made - 1].path)
            reason = make_reason(catalog, lacks != NULL ? lacks : "lacks it", complete);
        if (reason == NULL)
            return false;
        absent[made++] = (inlay_file_tensor){.name = entry->tensor, .type = reason, .path = path};
    }
    if (whole == 0)
        return inlay_catalog_check(&absent[0], catalog->error);
    return inlay_catalog_add_absent(catalog, absent, count);
}
