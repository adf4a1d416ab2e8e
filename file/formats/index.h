/* SPDX-License-Identifier: MIT */
/*
 * The index of a sharded safetensors model: a JSON object whose "weight_map" says for each tensor in which file it is.
 */
#ifndef INLAY_FILE_INDEX_H
#define INLAY_FILE_INDEX_H

#include "model_files.h"

/** Reads the index at files->index: its entries and the paths of its files. */
bool inlay_read_index(struct inlay_catalogue *catalogue, struct inlay_model_files *files);

/** Checks that every tensor of the index is in the file that the index says, when all are parsed and sorted. */
bool inlay_check_index(const struct inlay_catalogue *catalogue, const struct inlay_model_files *files);

#endif
