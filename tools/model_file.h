/* SPDX-License-Identifier: MIT */
/*
 * What the commands take from model files: tables, layers and n-grams. model_file.c reads them by libinlay-file; the
 * build takes model_file_none.c instead where that library is not built. Files come from strangers: what is wrong in
 * one is a message that names it.
 */
#ifndef INLAY_TOOL_MODEL_FILE_H
#define INLAY_TOOL_MODEL_FILE_H

#include <inlay/inlay.h>

#include "weights.h"

/** Returns the formats of model files that this build reads; null if there are none. */
const char *model_formats(void);

/**
 * Opens a model and makes a view of a table of it.
 *
 * @param name  what inlay_file_table_of() takes; null: the only tensor that can be a table, whose name is written there
 */
int weights_map(const char *path, const char **name, struct weights *weights);

/** Closes the model that a table was mapped from. Null is ignored. */
void model_file_close(struct inlay_file *file);

#endif
