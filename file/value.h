/* SPDX-License-Identifier: MIT */
/*
 * Represents numbers of metadata, and decodes the elements of GGUF arrays.
 */
#pragma once

#include <inlay/file.h>

#include <stdbool.h>

/** The value of a number. */
struct inlay_number {
    int64_t integer; /**< 0 unless is_integer */
    double number;
    bool is_integer; /**< it is an integer that fits in `integer` */
};

/** Returns the bytes of an element of an array of numbers; 0 for other kinds. */
size_t inlay_value_element_bytes(inlay_file_value_kind kind);

/** Decodes an element of an array of that kind, at any address. */
struct inlay_number inlay_value_element(inlay_file_value_kind kind, const void *bytes);
