/* SPDX-License-Identifier: MIT */
/*
 * The catalog. Arrays grow by doubling and strings are allocated in chunks, so memory is bounded by a small multiple
 * of the headers' size, regardless of the counts that they state.
 */
#include "formats/catalog.h"

#include <stdlib.h>
#include <string.h>

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/* A chunk of memory for strings and arrays. */
struct inlay_chunk {
    struct inlay_chunk *next;
    size_t used, room; /* of `memory` */
    int64_t memory[];
};

enum { CHUNK_BYTES = 1 << 14, MAX_CHUNK_BYTES = 1 << 20 };

void inlay_catalog_release(struct inlay_catalog *catalog)
{
    for (struct inlay_chunk *chunk = catalog->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(catalog->tensors);
    free(catalog->by_name);
    free(catalog->values);
    free(catalog->opened);
    *catalog = (struct inlay_catalog){0};
}

static void *no_memory(struct inlay_catalog *catalog)
{
    inlay_file_fail_memory(catalog->error, catalog->path);
    return NULL;
}

/* Allocates memory, aligned to a power of two. */
static void *cut(struct inlay_catalog *catalog, size_t bytes, size_t alignment)
{
    struct inlay_chunk *chunk = catalog->chunks;
    if (bytes > SIZE_MAX / 4)
        return no_memory(catalog);
    size_t at = chunk != NULL ? (chunk->used + alignment - 1) / alignment * alignment : 0;
    if (chunk == NULL || at > chunk->room || bytes > chunk->room - at) {
        size_t room = chunk == NULL ? CHUNK_BYTES : chunk->room < MAX_CHUNK_BYTES ? chunk->room * 2 : MAX_CHUNK_BYTES;
        room = bytes > room ? bytes : room;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL)
            return no_memory(catalog);
        *chunk = (struct inlay_chunk){catalog->chunks, 0, room};
        catalog->chunks = chunk;
        at = 0;
    }
    chunk->used = at + bytes;
    return (char *)chunk->memory + at;
}

void *inlay_catalog_memory(struct inlay_catalog *catalog, size_t bytes)
{
    return cut(catalog, bytes, sizeof(int64_t));
}

char *inlay_catalog_text(struct inlay_catalog *catalog, struct inlay_text text)
{
    char *copy = cut(catalog, text.size < SIZE_MAX ? text.size + 1 : SIZE_MAX, 1);
    if (copy == NULL)
        return NULL;
    if (text.size > 0)
        memcpy(copy, text.bytes, text.size);
    copy[text.size] = '\0';
    return copy;
}

struct inlay_text inlay_catalog_string(struct inlay_catalog *catalog, const char *prefix, struct inlay_text string)
{
    const size_t before = strlen(prefix);
    char *copy = cut(catalog, before + string.size + 1, 1);
    if (copy == NULL)
        return (struct inlay_text){NULL, 0};
    memcpy(copy, prefix, before);
    const size_t size = before + inlay_json_decode(string, copy + before);
    copy[size] = '\0';
    catalog->chunks->used -= before + string.size - size;
    return (struct inlay_text){copy, size};
}

/* Makes room for one more element of a doubling array, and returns the array; null if allocation fails or it already
   has `most` elements. */
static void *grow(struct inlay_catalog *catalog, void *array, size_t count, size_t *room, size_t bytes, size_t most)
{
    if (count == most) {
        inlay_file_fail(catalog->error, INLAY_FILE_ERROR_LIMIT, catalog->path, NULL,
                        "it has more than %d tensors or %d values", INLAY_MAX_TENSORS, INLAY_MAX_VALUES);
        return NULL;
    }
    if (count < *room)
        return array;
    size_t larger = *room == 0 ? 16 : *room * 2;
    void *moved = larger <= SIZE_MAX / bytes ? realloc(array, larger * bytes) : NULL;
    if (moved == NULL)
        return no_memory(catalog);
    *room = larger;
    return moved;
}

bool inlay_catalog_add_tensor(struct inlay_catalog *catalog, const inlay_file_tensor *tensor)
{
    inlay_file_tensor *tensors = grow(catalog, catalog->tensors, catalog->tensor_count, &catalog->tensor_room,
                                      sizeof *tensors, INLAY_MAX_TENSORS);
    if (tensors == NULL)
        return false;
    catalog->tensors = tensors;
    tensors[catalog->tensor_count++] = *tensor;
    return true;
}

bool inlay_catalog_add_value(struct inlay_catalog *catalog, const inlay_file_value *value)
{
    inlay_file_value *values =
        grow(catalog, catalog->values, catalog->value_count, &catalog->value_room, sizeof *values, INLAY_MAX_VALUES);
    if (values == NULL)
        return false;
    catalog->values = values;
    values[catalog->value_count] = *value;
    values[catalog->value_count++].reserved = (uint32_t)catalog->opened_count; /* until inlay_catalog_finish() */
    return true;
}

bool inlay_catalog_add_opened(struct inlay_catalog *catalog, const inlay_file_opened *file)
{
    inlay_file_opened *opened =
        grow(catalog, catalog->opened, catalog->opened_count, &catalog->opened_room, sizeof *opened, SIZE_MAX);
    if (opened == NULL)
        return false;
    catalog->opened = opened;
    opened[catalog->opened_count++] = *file;
    return true;
}

bool inlay_catalog_fail_json(const struct inlay_catalog *catalog, const struct inlay_json *json, const char *name,
                             const char *of)
{
    return inlay_file_fail(catalog->error, json->status, catalog->path, name, "%s at byte %td%s", json->problem,
                           json->at - json->begin, of);
}

/* ---- Order and checks ------------------------------------------------------------------------------------------- */

static int compare_data(const void *a, const void *b)
{
    const inlay_file_tensor *first = a, *second = b;
    const int data = (first->data > second->data) - (first->data < second->data);
    return data != 0 ? data : (first->bytes > second->bytes) - (first->bytes < second->bytes);
}

static int compare_names(const void *a, const void *b)
{
    const inlay_file_tensor *const *first = a, *const *second = b;
    return strcmp((*first)->name, (*second)->name);
}

/* Orders values by key, then by file. Until all are sorted, `reserved` holds the number of the file. */
static int compare_values(const void *a, const void *b)
{
    const inlay_file_value *first = a, *second = b;
    int keys = strcmp(first->key, second->key);
    return keys != 0 ? keys : (first->reserved > second->reserved) - (first->reserved < second->reserved);
}

bool inlay_catalog_place_tensors(struct inlay_catalog *catalog, const struct inlay_source *source, uint64_t data,
                                 uint64_t alignment, bool to_end)
{
    const size_t count = catalog->tensor_count - catalog->placed_tensors;
    const uint64_t size = source->size;
    uint64_t end = 0; /* of the tensors so far, counted from `data` as offsets are */
    if (count > 0)
        qsort(catalog->tensors + catalog->placed_tensors, count, sizeof *catalog->tensors, compare_data);
    for (; catalog->placed_tensors < catalog->tensor_count; catalog->placed_tensors++) {
        inlay_file_tensor *tensor = &catalog->tensors[catalog->placed_tensors];
        const uint64_t offset = (uint64_t)((const unsigned char *)tensor->data - source->bytes);
        const uint64_t next = (end + alignment - 1) / alignment * alignment;
        if (data > size || offset > size - data || tensor->bytes > size - data - offset)
            return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_TRUNCATED, source->path, tensor->name,
                                   "its %llu bytes, at offset %llu of the data, extend past the end of the file",
                                   (unsigned long long)tensor->bytes, (unsigned long long)offset);
        if (offset != next)
            return inlay_file_fail(
                catalog->error, INLAY_FILE_ERROR_RANGE, source->path, tensor->name,
                "its data starts at byte %llu of the file, %s byte %llu, where the previous tensor ends",
                (unsigned long long)data + offset, offset < next ? "before" : "after", (unsigned long long)data + next);
        tensor->path = source->path;
        tensor->data = source->bytes + (size_t)(data + offset);
        end = offset + tensor->bytes;
    }
    if (to_end && data + end != size)
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_RANGE, source->path, NULL,
                               "its tensors end at byte %llu and the file at byte %zu", (unsigned long long)data + end,
                               source->size);
    return true;
}

/* Sorts the values of all files, and rejects a key that occurs twice in one of them. If several files have a key, the
   first one's value is kept. Unsupported values move to the end. */
static bool sort_values(struct inlay_catalog *catalog)
{
    inlay_file_value *values = catalog->values;
    size_t count = catalog->value_count, kept = 0;
    if (count > 0)
        qsort(values, count, sizeof *values, compare_values);
    for (size_t i = 0; i < count; i++) {
        const bool repeats = i > 0 && strcmp(values[i - 1].key, values[i].key) == 0;
        if (repeats && values[i - 1].reserved == values[i].reserved)
            return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_DUPLICATE,
                                   catalog->opened[values[i].reserved - 1].path, values[i].key,
                                   "this metadata key occurs twice");
        if (!repeats)
            values[kept++] = values[i];
    }
    catalog->value_count = 0;
    for (size_t i = 0; i < kept; i++) {
        const inlay_file_value value = values[i];
        values[i].reserved = 0;
        if (value.kind == 0)
            continue;
        values[i] = values[catalog->value_count];
        values[catalog->value_count] = value;
        values[catalog->value_count++].reserved = 0;
    }
    catalog->odd_count = kept - catalog->value_count;
    return true;
}

bool inlay_catalog_finish(struct inlay_catalog *catalog)
{
    size_t count = catalog->tensor_count;
    if (!sort_values(catalog))
        return false;
    catalog->by_name = malloc((count + 1) * sizeof *catalog->by_name);
    if (catalog->by_name == NULL)
        return inlay_file_fail_memory(catalog->error, NULL);
    for (size_t i = 0; i < count; i++)
        catalog->by_name[i] = &catalog->tensors[i];
    catalog->name_count = count;
    qsort(catalog->by_name, count, sizeof *catalog->by_name, compare_names);
    for (size_t i = 1; i < count; i++) {
        const inlay_file_tensor *tensor = catalog->by_name[i];
        if (strcmp(catalog->by_name[i - 1]->name, tensor->name) == 0)
            return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_DUPLICATE, tensor->path, tensor->name,
                                   "two tensors have this name");
    }
    return true;
}

bool inlay_catalog_add_absent(struct inlay_catalog *catalog, inlay_file_tensor *absent, size_t count)
{
    const size_t present = catalog->name_count;
    const inlay_file_tensor **names =
        realloc(catalog->by_name, (present + count + 1) * sizeof(const inlay_file_tensor *));
    if (names == NULL)
        return inlay_file_fail_memory(catalog->error, NULL);
    catalog->by_name = names;
    size_t added = present;
    for (size_t i = 0; i < count; i++) {
        const inlay_file_tensor *key = &absent[i];
        const inlay_file_tensor **other =
            bsearch(&key, names, present, sizeof(const inlay_file_tensor *), compare_names);
        absent[i].bytes = other != NULL ? (uint64_t)(*other - catalog->tensors) + 1 : 0;
        *(other != NULL ? other : &names[added++]) = key;
    }
    catalog->name_count = added;
    qsort(names, added, sizeof(const inlay_file_tensor *), compare_names);
    return true;
}

bool inlay_catalog_check(const inlay_file_tensor *tensor, inlay_file_error *error)
{
    if (tensor->data == NULL)
        return inlay_file_fail(error, INLAY_FILE_ERROR_MISSING, tensor->path, tensor->name,
                               "the index places it in this file, which %s", tensor->type);
    return true;
}

const inlay_file_tensor *inlay_catalog_tensor(const struct inlay_catalog *catalog, const char *name)
{
    inlay_file_tensor wanted = {.name = name};
    const inlay_file_tensor *key = &wanted;
    const inlay_file_tensor **found = NULL;
    if (name != NULL)
        found = bsearch(&key, catalog->by_name, catalog->name_count, sizeof(const inlay_file_tensor *), compare_names);
    return found != NULL ? *found : NULL;
}

size_t inlay_catalog_first(const struct inlay_catalog *catalog, const char *prefix, size_t size)
{
    size_t first = 0, end = catalog->name_count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (strncmp(catalog->by_name[middle]->name, prefix, size) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

const inlay_file_value *inlay_catalog_value(const struct inlay_catalog *catalog, const char *key)
{
    const inlay_file_value wanted = {.key = key};
    const size_t count = catalog->value_count;
    return count > 0 ? bsearch(&wanted, catalog->values, count, sizeof wanted, compare_values) : NULL;
}

const inlay_file_value *inlay_catalog_last_value(const struct inlay_catalog *catalog, const char *key)
{
    const inlay_file_value *values = catalog->values;
    for (size_t n = catalog->value_count; n > 0 && values[n - 1].reserved == catalog->opened_count; n--)
        if (strcmp(values[n - 1].key, key) == 0)
            return &values[n - 1];
    return NULL;
}
