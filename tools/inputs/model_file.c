/* SPDX-License-Identifier: MIT */
/*
 * Implements model_file.h. Messages of libinlay-file are ASCII and name the file and the tensor, so they are printed
 * unchanged.
 */
#include "inputs/model_file.h"

#include <stddef.h>

#include "inputs/opened.h"
#include "text/message.h"

/* Limits the pages of a mapping in memory, so a large file doesn't evict everything else. */
enum { RESIDENT_BYTES = 256 << 20 };

int model_open(const char *path, struct model *model)
{
    inlay_file_error error;
    inlay_file_options options = inlay_file_options_default();
    options.resident_bytes = RESIDENT_BYTES;
    if (inlay_file_open(path, &options, &model->file, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    for (size_t i = 0; i < inlay_file_opened_count(model->file); i++) {
        const inlay_file_opened *opened = inlay_file_path_at(model->file, i);
        const struct stat status = {
            .st_mode = S_IFREG, .st_dev = (dev_t)opened->device, .st_ino = (ino_t)opened->inode};
        TRY(input_note(&status, shown(opened->path)));
    }
    return DONE;
}

int model_layer_open(const char *path, const char *prefix, struct model *model)
{
    inlay_file_error error;
    inlay_file_layer *layer;
    inlay_file_layer_options options = inlay_file_layer_options_default();
    options.prefix = prefix;
    TRY(model_open(path, model));
    if (inlay_file_layer_create(model->file, &options, &layer, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    model->layer = inlay_file_layer_get(layer);
    model->spec = inlay_file_layer_spec(layer);
    model->start = inlay_file_layer_start(layer);
    return DONE;
}

int model_ngram_open(const char *path, int64_t layer, struct model *model)
{
    inlay_file_error error;
    inlay_file_ngram *ngram;
    TRY(model_open(path, model));
    if (inlay_file_ngram_create(model->file, layer, &ngram, &error) != INLAY_FILE_OK)
        return failed("%s", error.message);
    model->ngram = inlay_file_ngram_spec(ngram);
    model->tables = inlay_file_ngram_tables(ngram, &model->count);
    model->factor = inlay_file_ngram_scale(ngram);
    return DONE;
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
