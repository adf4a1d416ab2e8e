/* SPDX-License-Identifier: MIT */
/*
 * The element types of each format: names, sizes and the matching table type. Types that tables can't have are listed
 * too, so the size of their tensors is checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <inlay/file.h>

#include "text.h"

/** An element type of a format. */
struct inlay_type {
    const char *name;           /**< null for ggml types that tables can have: they use a name of the element */
    uint32_t number;            /**< in GGUF files, else 0 */
    inlay_element_type element; /**< 0: tables can't have it */
    uint32_t block;             /**< elements per block, 1 for types without blocks */
    uint32_t block_bytes;       /**< bytes per block */
};

/** Returns a safetensors type by name, or null. */
const struct inlay_type *inlay_safetensors_type(struct inlay_text name);

/** Returns a ggml type by number, or null. */
const struct inlay_type *inlay_ggml_type(uint32_t number);

/** Returns the safetensors type, or the ggml type, of a table type; null if there is none. */
const struct inlay_type *inlay_safetensors_type_of(inlay_element_type element);
const struct inlay_type *inlay_ggml_type_of(inlay_element_type element);

/** Sets the type and size of a tensor, which has its shape. Returns false if the size overflows or the elements aren't
    whole blocks. */
bool inlay_tensor_set_type(inlay_file_tensor *tensor, const struct inlay_type *type);
