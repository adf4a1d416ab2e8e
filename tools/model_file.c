/* SPDX-License-Identifier: MIT */
/*
 * model_file.h by libinlay-file. Its messages are ASCII and name file and tensor, so that they are printed as they are.
 */
#include "model_file.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inputs.h"
#include "message.h"

enum { RESIDENT_BYTES = 256 << 20 }; /* of a mapping, so that a large file does not displace everything else */

const char *model_formats(void)
{
    return "safetensors, GGUF, npy";
}

/* Notes DIR/NAME. */
static int note_in(const char *directory, const char *name)
{
    char *path = malloc(strlen(directory) + strlen(name) + 2);
    if (path == NULL)
        return out_of_memory("a name", 0);
    sprintf(path, "%s/%s", directory, name);
    int outcome = input_note_named(path);
    free(path);
    return outcome;
}

/* Notes what a directory has beside the files of tensors: config.json and an index. */
static int note_json(const char *directory)
{
    int outcome = DONE;
    DIR *stream = opendir(directory);
    for (struct dirent *entry; outcome == DONE && stream != NULL && (entry = readdir(stream)) != NULL;) {
        const char *end = strrchr(entry->d_name, '.');
        if (end != NULL && strcmp(end, ".json") == 0)
            outcome = note_in(directory, entry->d_name);
    }
    if (stream != NULL)
        closedir(stream);
    return outcome;
}

/* Notes all parts of a split GGUF model, some of which may have no tensors. `path` is that of one. */
static int note_parts(const inlay_file *file, const char *path)
{
    static const char end[] = "-00001-of-00003.gguf";
    const inlay_file_value *parts = inlay_file_value_named(file, "split.count");
    if (parts == NULL || parts->integer <= 1)
        return DONE;
    char *part = strdup(path), *number = part != NULL ? part + strlen(path) - (sizeof end - 1) : NULL;
    int outcome = part != NULL ? DONE : out_of_memory("a name", 0);
    for (int64_t i = 1; outcome == DONE && i <= parts->integer; i++) {
        number[snprintf(number, sizeof end, "-%05d", (int)i)] = '-';
        outcome = input_note_named(part);
    }
    free(part);
    return outcome;
}

/* Notes the files of an open model. */
static int note_files(const char *path, const inlay_file *file)
{
    const char *noted = NULL;
    TRY(input_note_named(path));
    TRY(note_json(path));
    for (size_t i = 0; i < inlay_file_tensor_count(file); i++) {
        const char *part = inlay_file_tensor_at(file, i)->path;
        if (part == noted)
            continue;
        noted = part;
        TRY(input_note_named(part));
    }
    return noted != NULL ? note_parts(file, noted) : DONE;
}

int model_open(const char *path, inlay_file **file)
{
    inlay_file_error error;
    inlay_file_options options = inlay_file_options_default();
    options.resident_bytes = RESIDENT_BYTES;
    /* Before and after, since the library does not tell which file it has opened, and another process can exchange the
       file meanwhile: it is one of the two then. */
    if (access(path, F_OK) == 0)
        TRY(input_note_named(path));
    if (inlay_file_open(path, &options, file, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    return note_files(path, *file);
}

void model_close(inlay_file *file)
{
    inlay_file_close(file);
}

/* Finds the only tensor that can be a table. */
static int find_table(const char *path, const inlay_file *file, const char **name)
{
    size_t found = 0;
    for (size_t i = 0; i < inlay_file_tensor_count(file); i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        if (tensor->element == 0 || tensor->rank != 2)
            continue;
        *name = tensor->name;
        found++;
    }
    return found == 1 ? DONE
                      : failed("%s has %zu tensors that can be tables: name one by --table, as inlay model lists them",
                               shown(path), found);
}

int weights_map(const char *path, const char **name, struct weights *weights)
{
    inlay_file_error error;
    inlay_file_table table;
    TRY(model_open(path, &weights->file));
    if (*name == NULL)
        TRY(find_table(path, weights->file, name));
    if (inlay_file_table_of(weights->file, *name, &table, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    weights->view = table.view;
    weights->factor = table.scale;
    return DONE;
}

int model_layer_open(const char *path, struct model_layer *model)
{
    inlay_file_error error;
    TRY(model_open(path, &model->file));
    if (inlay_file_layer_create(model->file, NULL, &model->handle, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    model->layer = inlay_file_layer_get(model->handle);
    model->spec = inlay_file_layer_spec(model->handle);
    model->start = inlay_file_layer_start(model->handle);
    return DONE;
}

void model_layer_close(struct model_layer *model)
{
    inlay_file_layer_destroy(model->handle);
    inlay_file_close(model->file);
}

int model_ngram_open(const char *path, int64_t layer, struct model_ngram *model)
{
    inlay_file_error error;
    TRY(model_open(path, &model->file));
    if (inlay_file_ngram_create(model->file, layer, &model->handle, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    model->spec = inlay_file_ngram_spec(model->handle);
    model->tables = inlay_file_ngram_tables(model->handle, &model->count);
    model->factor = inlay_file_ngram_scale(model->handle);
    return DONE;
}

void model_ngram_close(struct model_ngram *model)
{
    inlay_file_ngram_destroy(model->handle);
    inlay_file_close(model->file);
}

void model_read_begin(inlay_file *file, const inlay_table *table, const int64_t *ids, size_t n, inlay_file_read *read)
{
    if (file != NULL)
        inlay_file_read_begin(file, table, ids, INLAY_ID_I64, n, read);
}

void model_read_end(inlay_file *file, const inlay_file_read *read)
{
    if (file != NULL)
        inlay_file_read_end(file, read);
}
