/* SPDX-License-Identifier: MIT */
/*
 * Tables of float32 rows for the layer: made by formula, or read from a file. Included by embed.c.
 */
#ifndef INLAY_TOOL_WEIGHTS_H
#define INLAY_TOOL_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "tokens.h"

/** A table [rows, dim] and the memory that it views. */
struct weights {
    inlay_table view;
    float *values;
};

/**
 * The sinusoid itself: row `id` is position `id`. This and weights_random fill only the rows that tokens name; pages
 * of the others stay untouched, so that a large id costs address space and no time.
 */
int weights_fixed(const inlay_sinusoid *sinusoid, size_t vocab, size_t dim, const struct tokens *tokens,
                  struct weights *weights);

/** Uniform in [-1, 1), a function of seed, id and column in integers: the same on every machine. */
int weights_random(int64_t seed, size_t vocab, size_t dim, const struct tokens *tokens, struct weights *weights);

/** From a .npy file. */
int weights_load(const char *path, struct weights *weights);

void weights_free(struct weights *weights);

#endif
