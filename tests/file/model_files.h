/* SPDX-License-Identifier: MIT */
/*
 * Writers of small checkpoints for tests: safetensors, GGUF and config.json, independent of the library's readers, in
 * the folder of files.h.
 */
#pragma once

#include "file/files.h"

/* Maximum rank of a tensor. */
enum { MODEL_RANK = 3 };

/* A tensor to write. */
struct model_tensor {
    const char *name;
    const char *type; /* "F32", as safetensors names it, or "Q8_0" of GGUF */
    uint32_t rank;
    uint64_t shape[MODEL_RANK]; /* slowest dimension first */
    const void *data;
    size_t bytes;
};

/* A value of GGUF's metadata: a text, an array of integers, or else a number, as uint32 if it fits. */
struct model_value {
    const char *key;
    const char *text;
    const int64_t *integers;
    size_t count;
    double number;
};

/* A model to write. */
struct model {
    const struct model_tensor *tensors; /* ended by one without a name */
    const char *config;                 /* config.json; null: none */
    const struct model_value *values;   /* of a GGUF file, ended by a null key; null: a safetensors file */
    const char *metadata;               /* __metadata__ of a safetensors file, as JSON; null: none */
};

/* Writes a model and returns the folder. */
const char *model_write(const struct model *model);

/* Opens a written model, which must be good. `label` is for messages. */
inlay_file *model_open(const struct model *model, const char *label);

/* Returns the bytes of an element of a type without blocks. */
size_t model_type_bytes(const char *type);

/* A safetensors file in the making: its header so far, and its data. All zero: empty. */
struct safetensors {
    struct blob header, data;
};

/* Adds a tensor; its data follows the data of earlier ones. */
void safetensors_add(struct safetensors *file, const struct model_tensor *tensor);

/* Writes the file in the folder, and frees it. Returns its path. */
const char *safetensors_write(struct safetensors *file, const char *name);

/* Adds a tensor [rows, columns], or [rows] if columns is 0, or of one number if both are. */
void safetensors_add_rows(struct safetensors *file, const char *name, const char *type, size_t rows, size_t columns,
                          const void *bytes);

/* Adds rows of 8-bit elements that count up from `first`. */
void safetensors_add_bytes(struct safetensors *file, const char *name, const char *type, size_t rows, size_t columns,
                           unsigned first);

/* Writes the file, frees it, and opens it. */
inlay_file *safetensors_open(struct safetensors *file);
