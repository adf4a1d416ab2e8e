/* SPDX-License-Identifier: MIT */
/*
 * Layers and n-grams of checkpoints for checkpoints.py, which loads this library, so Python needs no copies of structs
 * that may grow.
 */
#include <inlay/file.h>

#include <stdio.h>
#include <stdlib.h>

struct checkpoint {
    inlay_file *file;
    inlay_file_layer *layer;
    inlay_file_ngram *ngram;
};

/* Closes a checkpoint opened by checkpoint_layer() or checkpoint_ngram(). */
INLAY_API void checkpoint_close(struct checkpoint *checkpoint)
{
    inlay_file_layer_destroy(checkpoint->layer);
    inlay_file_ngram_destroy(checkpoint->ngram);
    inlay_file_close(checkpoint->file);
    free(checkpoint);
}

static struct checkpoint *finish(struct checkpoint *checkpoint, inlay_file_status status, const inlay_file_error *error,
                                 const char *report, char *text, size_t room)
{
    snprintf(text, room, "%s", status == INLAY_FILE_OK ? report : error->message);
    if (status == INLAY_FILE_OK)
        return checkpoint;
    checkpoint_close(checkpoint);
    return NULL;
}

/* Returns null on failure. Writes the report, or the error message, to text [room]. */
INLAY_API struct checkpoint *checkpoint_layer(const char *path, const char *model, const char *part,
                                              inlay_element_type out_type, char *text, size_t room)
{
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    inlay_file_error error;
    inlay_file_layer_options options = inlay_file_layer_options_default();
    options.model = model;
    options.part = part;
    options.out_type = out_type;
    inlay_file_status status = inlay_file_open(path, NULL, &checkpoint->file, &error);
    if (status == INLAY_FILE_OK)
        status = inlay_file_layer_create(checkpoint->file, &options, &checkpoint->layer, &error);
    const char *report = status == INLAY_FILE_OK ? inlay_file_layer_report(checkpoint->layer) : NULL;
    return finish(checkpoint, status, &error, report, text, room);
}

/* Same, for the n-grams of a layer. */
INLAY_API struct checkpoint *checkpoint_ngram(const char *path, int64_t layer, char *text, size_t room)
{
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    inlay_file_error error;
    inlay_file_status status = inlay_file_open(path, NULL, &checkpoint->file, &error);
    if (status == INLAY_FILE_OK)
        status = inlay_file_ngram_create(checkpoint->file, layer, &checkpoint->ngram, &error);
    const char *report = status == INLAY_FILE_OK ? inlay_file_ngram_report(checkpoint->ngram) : NULL;
    return finish(checkpoint, status, &error, report, text, room);
}

/* Returns the columns of the layer's output, or of one column of the n-grams. */
INLAY_API size_t checkpoint_dim(const struct checkpoint *checkpoint)
{
    size_t count;
    return checkpoint->layer != NULL ? inlay_file_layer_spec(checkpoint->layer)->tokens->dim
                                     : inlay_file_ngram_tables(checkpoint->ngram, &count)->dim;
}

/* Embeds sequences of one length if `offsets` is null, otherwise packed sequences with `length` tokens in total. */
INLAY_API inlay_status checkpoint_forward(const struct checkpoint *checkpoint, const int64_t *ids,
                                          const int64_t *segments, const int64_t *offsets, size_t sequences,
                                          size_t length, void *out, size_t stride_bytes)
{
    inlay_batch batch = inlay_batch_i64(ids, sequences, length, inlay_file_layer_start(checkpoint->layer));
    batch.offsets = offsets;
    batch.segment_ids = segments;
    batch.segment_id_type = segments != NULL ? INLAY_ID_I64 : (inlay_id_type)0;
    return inlay_forward(inlay_file_layer_get(checkpoint->layer), &batch, out, stride_bytes, NULL, NULL);
}

/* Looks up the n-grams of sequences of one length: out [sequences, length, columns * dim] of a type. */
INLAY_API inlay_status checkpoint_lookup(const struct checkpoint *checkpoint, const int64_t *ids, size_t sequences,
                                         size_t length, inlay_element_type out_type, void *out, size_t stride_bytes)
{
    size_t count;
    const inlay_table *tables[] = {inlay_file_ngram_tables(checkpoint->ngram, &count)};
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, count);
    lookup.scale = inlay_file_ngram_scale(checkpoint->ngram);
    lookup.out_type = out_type;
    inlay_ngram_batch batch = inlay_ngram_batch_i64(ids, sequences, length);
    return inlay_ngram_forward(inlay_file_ngram_get(checkpoint->ngram), &batch, &lookup, out, stride_bytes, NULL, NULL);
}
