/* SPDX-License-Identifier: MIT */
/*
 * Prints tensors in NumPy's nested brackets. Rows are fetched one at a time, so a large table need not exist in memory.
 * Must not depend on the locale.
 */
#pragma once

#include <stddef.h>

#include <inlay/inlay.h>

/** Converts elements [n] of any output type to values [n] exactly. The two must not overlap. */
void widen(inlay_element_type type, const void *elements, size_t n, float *values);

/** A tensor in memory, or a tensor of rows (the last dimension) that are fetched one at a time, in any order, perhaps
   more than once. */
struct tensor {
    inlay_element_type type; /**< element type; an output type */
    size_t rank;             /**< 2 or 3 */
    const size_t *shape;     /**< [rank] */
    const void *elements;    /**< [shape...], or null */
    const void *(*row)(void *context,
                       size_t index); /**< without elements: returns row [shape[rank - 1]], valid until the next call */
    void *context;
};

/**
 * Prints a heading with type and shape to stdout, then the values. Each value has the fewest digits that identify the
 * float32, at most 9 significant ones. Decimal points are aligned. If there are more than 1000 values, only the first
 * and last 3 along each dimension are shown.
 */
void print_tensor(const struct tensor *tensor);
