/* SPDX-License-Identifier: MIT */
/*
 * The catalogue of catalogue.h. Its arrays double, its strings lie in chunks: the memory is bounded by a small multiple
 * of the headers' bytes, whatever counts they announce.
 */
#include "formats/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/* A piece of memory from which strings and arrays are cut. */
struct inlay_chunk {
    struct inlay_chunk *next;
    size_t used, room; /* of `memory` */
    int64_t memory[];
};

enum { CHUNK_BYTES = 1 << 14, MOST_CHUNK_BYTES = 1 << 20 };

void inlay_catalogue_release(struct inlay_catalogue *catalogue)
{
    for (struct inlay_chunk *chunk = catalogue->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(catalogue->tensors);
    free(catalogue->by_name);
    free(catalogue->values);
    free(catalogue->opened);
    *catalogue = (struct inlay_catalogue){0};
}

static void *no_memory(struct inlay_catalogue *catalogue)
{
    inlay_file_fail_memory(catalogue->error, catalogue->path);
    return NULL;
}

/* Cuts a piece of memory, aligned to a power of two. */
static void *cut(struct inlay_catalogue *catalogue, size_t bytes, size_t alignment)
{
    struct inlay_chunk *chunk = catalogue->chunks;
    if (bytes > SIZE_MAX / 4)
        return no_memory(catalogue);
    size_t at = chunk != NULL ? (chunk->used + alignment - 1) / alignment * alignment : 0;
    if (chunk == NULL || at > chunk->room || bytes > chunk->room - at) {
        size_t room = chunk == NULL ? CHUNK_BYTES : chunk->room < MOST_CHUNK_BYTES ? chunk->room * 2 : MOST_CHUNK_BYTES;
        room = bytes > room ? bytes : room;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL)
            return no_memory(catalogue);
        *chunk = (struct inlay_chunk){catalogue->chunks, 0, room};
        catalogue->chunks = chunk;
        at = 0;
    }
    chunk->used = at + bytes;
    return (char *)chunk->memory + at;
}

void *inlay_catalogue_memory(struct inlay_catalogue *catalogue, size_t bytes)
{
    return cut(catalogue, bytes, sizeof(int64_t));
}

char *inlay_catalogue_text(struct inlay_catalogue *catalogue, struct inlay_text text)
{
    char *copy = cut(catalogue, text.size < SIZE_MAX ? text.size + 1 : SIZE_MAX, 1);
    if (copy == NULL)
        return NULL;
    if (text.size > 0)
        memcpy(copy, text.bytes, text.size);
    copy[text.size] = '\0';
    return copy;
}

struct inlay_text inlay_catalogue_string(struct inlay_catalogue *catalogue, const char *prefix,
                                         struct inlay_text string)
{
    const size_t before = strlen(prefix);
    char *copy = cut(catalogue, before + string.size + 1, 1);
    if (copy == NULL)
        return (struct inlay_text){NULL, 0};
    memcpy(copy, prefix, before);
    const size_t size = before + inlay_json_decode(string, copy + before);
    copy[size] = '\0';
    catalogue->chunks->used -= before + string.size - size;
    return (struct inlay_text){copy, size};
}

/* Makes room for one more element of an array that doubles, and returns the array; null if there is no memory. */
static void *grow(struct inlay_catalogue *catalogue, void *array, size_t count, size_t *room, size_t bytes)
{
    if (count < *room)
        return array;
    size_t larger = *room == 0 ? 16 : *room * 2;
    void *moved = larger <= SIZE_MAX / bytes ? realloc(array, larger * bytes) : NULL;
    if (moved == NULL)
        return no_memory(catalogue);
    *room = larger;
    return moved;
}

static void *too_many(struct inlay_catalogue *catalogue)
{
    inlay_file_fail(catalogue->error, INLAY_FILE_ERROR_LIMIT, catalogue->path, NULL,
                    "it has more than %d tensors or %d values", INLAY_MOST_TENSORS, INLAY_MOST_VALUES);
    return NULL;
}

inlay_file_tensor *inlay_catalogue_add_tensor(struct inlay_catalogue *catalogue)
{
    if (catalogue->tensor_count == INLAY_MOST_TENSORS)
        return too_many(catalogue);
    inlay_file_tensor *tensors =
        grow(catalogue, catalogue->tensors, catalogue->tensor_count, &catalogue->tensor_room, sizeof *tensors);
    if (tensors == NULL)
        return NULL;
    catalogue->tensors = tensors;
    return memset(&tensors[catalogue->tensor_count++], 0, sizeof *tensors);
}

inlay_file_value *inlay_catalogue_add_value(struct inlay_catalogue *catalogue)
{
    if (catalogue->value_count == INLAY_MOST_VALUES)
        return too_many(catalogue);
    inlay_file_value *values =
        grow(catalogue, catalogue->values, catalogue->value_count, &catalogue->value_room, sizeof *values);
    if (values == NULL)
        return NULL;
    catalogue->values = values;
    return memset(&values[catalogue->value_count++], 0, sizeof *values);
}

bool inlay_catalogue_fail_json(const struct inlay_catalogue *catalogue, const struct inlay_json *json, const char *name,
                               const char *of)
{
    char repeated[sizeof catalogue->error->name + 1] = "";
    if (json->repeated.size > 0)
        snprintf(repeated, sizeof repeated, "%.*s", (int)json->repeated.size, json->repeated.bytes);
    return inlay_file_fail(catalogue->error, json->status, catalogue->path, name != NULL ? name : repeated,
                           "%s at byte %td%s", json->problem, json->at - json->begin, of);
}

bool inlay_catalogue_add_opened(struct inlay_catalogue *catalogue, const inlay_file_opened *file)
{
    inlay_file_opened *opened =
        grow(catalogue, catalogue->opened, catalogue->opened_count, &catalogue->opened_room, sizeof *opened);
    if (opened == NULL)
        return false;
    catalogue->opened = opened;
    opened[catalogue->opened_count++] = *file;
    return true;
}

/* ---- Order and checks ------------------------------------------------------------------------------------------- */

static int compare_data(const void *a, const void *b)
{
    const inlay_file_tensor *first = a, *second = b;
    uintptr_t x = (uintptr_t)first->data, y = (uintptr_t)second->data;
    if (x != y)
        return x < y ? -1 : 1;
    return first->bytes != second->bytes ? (first->bytes < second->bytes ? -1 : 1) : 0;
}

static int compare_names(const void *a, const void *b)
{
    const inlay_file_tensor *const *first = a, *const *second = b;
    return strcmp((*first)->name, (*second)->name);
}

static int compare_keys(const void *a, const void *b)
{
    const inlay_file_value *first = a, *second = b;
    return strcmp(first->key, second->key);
}

/* Orders values of the same key by their files, whose numbers `reserved` has until all files are parsed. */
static int compare_keys_and_files(const void *a, const void *b)
{
    const inlay_file_value *first = a, *second = b;
    int keys = compare_keys(a, b);
    return keys != 0 ? keys : (first->reserved > second->reserved) - (first->reserved < second->reserved);
}

/* Checks that the sorted tensors of a file follow one another from `data` on. */
static bool check_ranges(const struct inlay_catalogue *catalogue, const struct inlay_source *source, uint64_t data,
                         uint64_t alignment, bool to_end)
{
    uint64_t end = data;
    for (size_t i = catalogue->file_tensors; i < catalogue->tensor_count; i++) {
        const inlay_file_tensor *tensor = &catalogue->tensors[i];
        uint64_t begin = (uint64_t)((const unsigned char *)tensor->data - source->bytes);
        uint64_t next = data + (end - data + alignment - 1) / alignment * alignment;
        if (begin != next)
            return inlay_file_fail(
                catalogue->error, INLAY_FILE_ERROR_RANGE, source->path, tensor->name,
                "its data begin at byte %llu of the file, %s byte %llu, where the tensor before it ends",
                (unsigned long long)begin, begin < next ? "before" : "behind", (unsigned long long)next);
        end = begin + tensor->bytes;
    }
    if (to_end && end != source->size)
        return inlay_file_fail(catalogue->error, INLAY_FILE_ERROR_RANGE, source->path, NULL,
                               "its tensors end at byte %llu and the file at byte %zu", (unsigned long long)end,
                               source->size);
    return true;
}

/* Sorts the values of a file. */
static bool sort_values(struct inlay_catalogue *catalogue, const struct inlay_source *source)
{
    size_t count = catalogue->value_count - catalogue->file_values;
    if (count == 0)
        return true;
    inlay_file_value *values = catalogue->values + catalogue->file_values;
    qsort(values, count, sizeof *values, compare_keys);
    for (size_t i = 0; i < count; i++)
        values[i].reserved = catalogue->files;
    for (size_t i = 1; i < count; i++)
        if (strcmp(values[i - 1].key, values[i].key) == 0)
            return inlay_file_fail(catalogue->error, INLAY_FILE_ERROR_DUPLICATE, source->path, values[i].key,
                                   "this key of the metadata is there twice");
    return true;
}

static const inlay_file_value *find_value(const inlay_file_value *values, size_t count, const char *key)
{
    inlay_file_value wanted = {.key = key};
    return count > 0 ? bsearch(&wanted, values, count, sizeof wanted, compare_keys) : NULL;
}

/* Sorts the values of all files. Of a key that several have, the value of the first stays. Once for all files: their
   number times that of all values could be seconds. */
static void merge_values(struct inlay_catalogue *catalogue)
{
    inlay_file_value *values = catalogue->values;
    size_t count = catalogue->value_count, kept = 0;
    bool sorted = true; /* those of one file are, and a long configuration takes longer to sort than to read */
    for (size_t i = 1; i < count && sorted; i++)
        sorted = compare_keys_and_files(&values[i - 1], &values[i]) <= 0;
    if (!sorted)
        qsort(values, count, sizeof *values, compare_keys_and_files);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare_keys(&values[kept - 1], &values[i]) != 0) {
            values[kept] = values[i];
            values[kept++].reserved = 0;
        }
    catalogue->value_count = kept;
}

void inlay_catalogue_begin_file(struct inlay_catalogue *catalogue)
{
    catalogue->files++;
    catalogue->file_tensors = catalogue->tensor_count;
    catalogue->file_values = catalogue->value_count;
}

bool inlay_catalogue_end_file(struct inlay_catalogue *catalogue, const struct inlay_source *source, uint64_t data,
                              uint64_t alignment, bool to_end)
{
    size_t count = catalogue->tensor_count - catalogue->file_tensors;
    if (count > 0)
        qsort(catalogue->tensors + catalogue->file_tensors, count, sizeof *catalogue->tensors, compare_data);
    return check_ranges(catalogue, source, data, alignment, to_end) && sort_values(catalogue, source);
}

bool inlay_catalogue_finish(struct inlay_catalogue *catalogue)
{
    size_t count = catalogue->tensor_count;
    merge_values(catalogue);
    catalogue->by_name = malloc((count + 1) * sizeof *catalogue->by_name);
    if (catalogue->by_name == NULL)
        return inlay_file_fail_memory(catalogue->error, NULL);
    for (size_t i = 0; i < count; i++)
        catalogue->by_name[i] = &catalogue->tensors[i];
    qsort(catalogue->by_name, count, sizeof *catalogue->by_name, compare_names);
    for (size_t i = 1; i < count; i++) {
        const inlay_file_tensor *tensor = catalogue->by_name[i];
        if (strcmp(catalogue->by_name[i - 1]->name, tensor->name) == 0)
            return inlay_file_fail(catalogue->error, INLAY_FILE_ERROR_DUPLICATE, tensor->path, tensor->name,
                                   "two tensors have this name");
    }
    return true;
}

const inlay_file_tensor *inlay_catalogue_tensor(const struct inlay_catalogue *catalogue, const char *name)
{
    inlay_file_tensor wanted = {.name = name};
    const inlay_file_tensor *key = &wanted;
    const inlay_file_tensor **found =
        bsearch(&key, catalogue->by_name, catalogue->tensor_count, sizeof(const inlay_file_tensor *), compare_names);
    return found != NULL ? *found : NULL;
}

const inlay_file_value *inlay_catalogue_value(const struct inlay_catalogue *catalogue, const char *key)
{
    return find_value(catalogue->values, catalogue->value_count, key);
}

const inlay_file_value *inlay_catalogue_last_value(const struct inlay_catalogue *catalogue, const char *key)
{
    size_t first = catalogue->file_values, count = catalogue->value_count - first;
    return count > 0 ? find_value(catalogue->values + first, count, key) : NULL;
}
