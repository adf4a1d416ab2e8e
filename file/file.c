/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing a model: finds its files, maps them, parses them into one catalog and checks them against each
 * other. On failure, the handle is closed as if it were complete.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/formats.h"
#include "handle.h"
#include "model_files.h"
#include "options.h"

/* Memory that a file keeps until it is closed. */
struct inlay_kept {
    struct inlay_kept *next;
    _Atomic(const inlay_file_tensor *) of; /* the tensor that it is a complete copy of, or null */
    int64_t memory[];
};

void *inlay_file_keep(inlay_file *file, size_t bytes)
{
    struct inlay_kept *kept = bytes <= SIZE_MAX / 2 ? malloc(sizeof *kept + bytes) : NULL;
    if (kept == NULL)
        return NULL;
    atomic_init(&kept->of, NULL);
    kept->next = atomic_load(&file->kept);
    while (!atomic_compare_exchange_weak(&file->kept, &kept->next, kept))
        continue;
    return kept->memory;
}

void inlay_file_set_copy(void *memory, const inlay_file_tensor *of)
{
    struct inlay_kept *kept = (void *)((char *)memory - offsetof(struct inlay_kept, memory));
    atomic_store(&kept->of, of);
}

const void *inlay_file_find_copy(inlay_file *file, const inlay_file_tensor *of)
{
    struct inlay_kept *kept = atomic_load(&file->kept);
    while (kept != NULL && atomic_load(&kept->of) != of)
        kept = kept->next;
    return kept != NULL ? kept->memory : NULL;
}

/* ---- Checks across files ---------------------------------------------------------------------------------------- */

/* Returns an integer of the metadata, or -1. */
static int64_t integer_of(const inlay_file_value *value)
{
    return value != NULL && value->kind == INLAY_FILE_VALUE_INTEGER ? value->integer : -1;
}

/* Checks that the last parsed file is the part of the model that its name states. */
static bool check_part(const struct inlay_catalog *catalog, const char *path, size_t part, size_t parts)
{
    int64_t number = integer_of(inlay_catalog_last_value(catalog, "split.no"));
    int64_t count = integer_of(inlay_catalog_last_value(catalog, "split.count"));
    if (parts == 1 && count > 1)
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_MISSING, path, "split.count",
                               "it is one of %lld parts, but its name does not identify the others", (long long)count);
    if (parts > 1 && (number != (int64_t)part || count != (int64_t)parts))
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_MISSING, path, "split.no",
                               "its split.no is %lld and its split.count is %lld, but its name says part %zu of %zu",
                               (long long)number, (long long)count, part + 1, parts);
    return true;
}

/* Checks the total number of tensors of all parts. */
static bool check_count(const struct inlay_catalog *catalog, const char *path)
{
    int64_t tensors = integer_of(inlay_catalog_value(catalog, "split.tensors.count"));
    if (tensors >= 0 && (uint64_t)tensors != catalog->tensor_count)
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_MISSING, path, "split.tensors.count",
                               "it is %lld, but the parts have %zu tensors", (long long)tensors, catalog->tensor_count);
    return true;
}

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

/* Maps and parses a file of the model. With an index, files may be missing: *lacks is then set to the reason. */
static bool open_part(inlay_file *file, const char *path, const char **lacks)
{
    struct inlay_mapping *mapping = &file->mappings[file->mapping_count];
    inlay_file_error *error = file->catalog.error, own;
    file->catalog.error = &own; /* don't report errors of a file that may be missing */
    const bool is_open = inlay_open_noted(&file->catalog, path, file->options.memory, SIZE_MAX, mapping);
    file->catalog.error = error;
    if (!is_open) {
        const bool is_missing = own.status == INLAY_FILE_ERROR_SYSTEM && own.system_error == ENOENT;
        const char *why = own.status == INLAY_FILE_ERROR_MISSING ? "is a Git LFS pointer: run git lfs pull"
                          : is_missing                           ? "is missing"
                                                                 : NULL;
        if (lacks == NULL || why == NULL) {
            *error = own;
            return false;
        }
        *lacks = why;
        return true;
    }
    file->mapping_count++;
    const struct inlay_source source = {path, mapping->bytes, mapping->size};
    const bool is_parsed = inlay_parse_model(&file->catalog, &source);
    inlay_mapping_advise_random(mapping);
    return is_parsed;
}

static bool open_model(inlay_file *file, const char *path)
{
    struct inlay_catalog *catalog = &file->catalog;
    struct inlay_model_files files;
    if (!inlay_find_files(path, catalog, &files))
        return false;
    file->mappings = calloc(files.count, sizeof *file->mappings);
    if (file->mappings == NULL)
        return inlay_file_fail_memory(catalog->error, path);
    for (size_t part = 0; part < files.count; part++)
        if (!open_part(file, files.paths[part], files.index != NULL ? &files.lacks[part] : NULL) ||
            (files.index == NULL && !check_part(catalog, files.paths[part], part, files.count)))
            return false;
    return inlay_catalog_finish(catalog) &&
           (files.index == NULL ? check_count(catalog, files.paths[0]) : inlay_check_index(catalog, &files));
}

static bool open_file(const char *path, const inlay_file_options *options, inlay_file **file, inlay_file_error *error)
{
    const inlay_file_options standard = inlay_file_options_default();
    if (file != NULL)
        *file = NULL;
    if (path == NULL || file == NULL)
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, NULL,
                               "an argument is null: path and file must both be given");
    if (options == NULL)
        options = &standard;
    if (!inlay_options_known(options, sizeof *options) || (unsigned)options->memory > INLAY_FILE_MEMORY_LOADED ||
        options->reserved != 0)
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, NULL,
                               "an option is unknown to this version: start from inlay_file_options_default()");
    inlay_file *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return inlay_file_fail_memory(error, NULL);
    opened->options = *options;
    opened->catalog.error = error;
    if (!open_model(opened, path)) {
        inlay_file_close(opened);
        return false;
    }
    opened->catalog.error = NULL;
    inlay_file_start_reads(opened);
    *file = opened;
    return true;
}

inlay_file_status inlay_file_open(const char *path, const inlay_file_options *options, inlay_file **file,
                                  inlay_file_error *error)
{
    inlay_file_error unwanted;
    error = error != NULL ? error : &unwanted;
    return open_file(path, options, file, error) ? INLAY_FILE_OK : error->status;
}

void inlay_file_close(inlay_file *file)
{
    if (file == NULL)
        return;
    for (size_t i = 0; i < file->mapping_count; i++)
        inlay_mapping_close(&file->mappings[i]);
    for (struct inlay_kept *kept = atomic_load(&file->kept), *next; kept != NULL; kept = next) {
        next = kept->next;
        free(kept);
    }
    inlay_catalog_release(&file->catalog);
    free(file->mappings);
    free(file);
}

/* ---- Contents --------------------------------------------------------------------------------------------------- */

size_t inlay_file_opened_count(const inlay_file *file)
{
    return file->catalog.opened_count;
}

const inlay_file_opened *inlay_file_path_at(const inlay_file *file, size_t index)
{
    return index < file->catalog.opened_count ? &file->catalog.opened[index] : NULL;
}

size_t inlay_file_tensor_count(const inlay_file *file)
{
    return file->catalog.tensor_count;
}

const inlay_file_tensor *inlay_file_tensor_at(const inlay_file *file, size_t index)
{
    return index < file->catalog.tensor_count ? &file->catalog.tensors[index] : NULL;
}

const inlay_file_tensor *inlay_file_find_tensor(const inlay_file *file, const char *name)
{
    const inlay_file_tensor *tensor = inlay_catalog_tensor(&file->catalog, name);
    if (tensor == NULL || tensor->data != NULL)
        return tensor;
    return tensor->bytes > 0 ? &file->catalog.tensors[tensor->bytes - 1] : NULL; /* in another file */
}

size_t inlay_file_value_count(const inlay_file *file)
{
    return file->catalog.value_count;
}

const inlay_file_value *inlay_file_value_at(const inlay_file *file, size_t index)
{
    return index < file->catalog.value_count ? &file->catalog.values[index] : NULL;
}

const inlay_file_value *inlay_file_find_value(const inlay_file *file, const char *key)
{
    return key != NULL ? inlay_catalog_value(&file->catalog, key) : NULL;
}
