/* SPDX-License-Identifier: MIT */
/*
 * Numbers of metadata, and of those of GGUF, alone and in arrays, what bytes of a type are worth.
 */
#pragma once

#include <inlay/file.h>

#include <stdbool.h>

/** What a number is worth. */
struct inlay_number {
    int64_t integer; /**< 0 if it is none */
    double number;
    bool is_integer; /**< and fits in `integer` */
};

/** Returns the bytes of an element of an array of numbers; 0 for other kinds. */
size_t inlay_value_element_bytes(inlay_file_value_kind kind);

/** Returns the number in that many bytes, at any address, of the type that an array of that kind has. */
struct inlay_number inlay_value_element(inlay_file_value_kind kind, const void *bytes);
