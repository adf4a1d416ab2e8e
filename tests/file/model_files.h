/* SPDX-License-Identifier: MIT */
/*
 * Small checkpoints for tests: writers of safetensors, GGUF and config.json, independent of the library's readers, in a
 * folder that is deleted at the end.
 */
#pragma once

#include "support/support.h"

/* The most dimensions of a tensor. */
enum { MODEL_RANK = 3 };

/* A tensor to write. */
struct model_tensor {
    const char *name;
    const char *type; /* "F32", as safetensors names it, or "Q8_0" of GGUF */
    uint32_t rank;
    uint64_t shape[MODEL_RANK]; /* the slowest first */
    const void *data;
    size_t bytes;
};

/* A value of the metadata of GGUF: a text, an array of integers, or else a number, of 32 bits where it is whole. */
struct model_value {
    const char *key;
    const char *text;
    const int64_t *integers;
    size_t count;
    double number;
};

/* What to write. */
struct model {
    const struct model_tensor *tensors;
    size_t count;
    const char *config;               /* config.json; null: none */
    const struct model_value *values; /* of a GGUF file, ended by a null key; null: a safetensors file */
};

/* Makes the folder of the test, and deletes it with all files that were written. */
void model_folder_make(void);
void model_folder_delete(void);

/* Writes a model and returns the folder. What was written before is deleted. */
const char *model_write(const struct model *model);

/* Bytes of an element of such a type that is not one of blocks. */
size_t model_type_bytes(const char *type);
