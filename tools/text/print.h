/* SPDX-License-Identifier: MIT */
/*
 * Tensors for people, in NumPy's nested brackets. Rows are fetched one at a time, so that
 * a large table need not exist to be printed. It must not depend on the locale.
 */
#pragma once

#include <stddef.h>

#include <inlay/inlay.h>

/** Writes elements [n] of any output type to values [n], exactly: each of them is a float32. The two must not overlap.
 */
void widen(inlay_element_type type, const void *elements, size_t n, float *values);

/** A tensor in memory, or one whose rows (the last dimension) can be fetched in any order, more than once. */
struct tensor {
    inlay_element_type type; /**< of its elements: one of outputs */
    size_t rank;             /**< 2 or 3 */
    const size_t *shape;     /**< [rank] */
    const void *elements;    /**< [shape...], or null */
    const void *(*row)(void *context,
                       size_t index); /**< without elements: row [shape[rank - 1]], until the next call */
    void *context;
};

/**
 * Prints to stdout a heading with type and shape, then the values: the fewest digits that identify the float32, at
 * most 9 significant ones, decimal points aligned. Above 1000 values only the first and last 3 along each dimension.
 */
void print_tensor(const struct tensor *tensor);
