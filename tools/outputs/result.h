/* SPDX-License-Identifier: MIT */
/*
 * A tensor that a command computes as a whole. It is allocated here, then written or printed.
 */
#pragma once

#include "outputs/output.h"

/** A tensor. All zero if absent. */
struct result {
    enum npy_element element;
    size_t rank;
    size_t shape[3];
    size_t bytes;   /**< of all elements */
    void *elements; /**< [shape...] */
};

/** Allocates the elements, all zero. Messages call them `what`. */
void result_allocate(struct result *result, const char *what);

/** Writes the tensor as a .npy file. If no output is open, prints the tensor; its type must then be an output type. */
int result_deliver(const struct result *result, struct output *output);
