/* SPDX-License-Identifier: MIT */
/*
 * Which files a path means: the file itself, those of an index or of a split GGUF model, which lie in the same
 * directory, or the model of a directory.
 */
#ifndef INLAY_FILE_DIRECTORY_H
#define INLAY_FILE_DIRECTORY_H

#include "model_files.h"

/** Finds the files of a model. Opens none but an index. */
bool inlay_find_files(const char *path, struct inlay_catalogue *catalogue, struct inlay_model_files *files);

#endif
