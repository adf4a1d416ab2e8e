/* SPDX-License-Identifier: MIT */
/*
 * model_file.h without the library that reads model files: a model is refused when it is opened, and all else has
 * nothing to do.
 */
#include "inputs/model_file.h"

#include "text/message.h"

/* Nothing here uses its parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

const char model_formats[] = "none";

static int refuse(const char *path)
{
    return failed("%s: this inlay was built without libinlay-file and reads no model files", shown(path));
}

int model_print(const char *path)
{
    return refuse(path);
}

int model_table_open(const char *path, const char **name, struct model *model, inlay_table *view, float *factor)
{
    return refuse(path);
}

int model_layer_open(const char *path, struct model *model)
{
    return refuse(path);
}

int model_ngram_open(const char *path, int64_t layer, struct model *model)
{
    return refuse(path);
}

void model_read_begin(inlay_file *file, const inlay_table *table, const int64_t *ids, size_t n, inlay_file_read *read)
{
}

void model_read_end(inlay_file *file, const inlay_file_read *read)
{
}
