/* SPDX-License-Identifier: MIT */
/*
 * A tensor that a command computes as a whole: its memory, and where it goes in the end.
 */
#pragma once

#include "outputs/output.h"

/** A tensor. All zero where there is none. */
struct result {
    enum npy_element element;
    size_t rank;
    size_t shape[3];
    size_t bytes;   /**< of all elements */
    void *elements; /**< [shape...] */
};

/** Allocates the elements, all zero. A message calls them `what`. */
void result_allocate(struct result *result, const char *what);

/** Writes the tensor as a .npy file, or where none is open prints it, which takes an element type of outputs. */
int result_deliver(const struct result *result, struct output *output);
