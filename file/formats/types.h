/* SPDX-License-Identifier: MIT */
/*
 * The types of elements that each format has: their names, their sizes, and the type of tables of them. A type that no
 * table can have is listed too, so that the bytes of its tensors are checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <inlay/file.h>

#include "text.h"

/** A type of elements of a format. */
struct inlay_type {
    const char *name;           /**< null for those of ggml that tables can have: theirs is a name of the element */
    uint32_t number;            /**< in GGUF files, else 0 */
    inlay_element_type element; /**< 0: no table can have it */
    uint32_t block;             /**< elements of a block, 1 for types without blocks */
    uint32_t block_bytes;       /**< bytes of a block */
};

/** Returns the type that a safetensors header names, or null. */
const struct inlay_type *inlay_safetensors_type(struct inlay_text name);

/** Returns the type of ggml of that number, or null. */
const struct inlay_type *inlay_ggml_type(uint32_t number);

/** Returns the type of safetensors of tables of that type, or null; and that of ggml. */
const struct inlay_type *inlay_safetensors_type_of(inlay_element_type element);
const struct inlay_type *inlay_ggml_type_of(inlay_element_type element);

/** Gives a tensor, which has its shape, a type and the bytes that follow; false if they overflow or its elements are no
    whole blocks. */
bool inlay_tensor_set_type(inlay_file_tensor *tensor, const struct inlay_type *type);
