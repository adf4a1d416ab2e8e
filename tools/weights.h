/* SPDX-License-Identifier: MIT */
/*
 * Tables of float32 rows for the layer: made by formula, or read from a file.
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
 * Makes a table [vocab, dim]: the sinusoid itself, where row `id` is position `id`; or where that is null, random
 * numbers, uniform in [-1, 1), a function of seed, id and column in integers: the same on every machine. Only rows that
 * tokens name are filled in; pages of the others stay untouched, so that a large id costs address space and no time.
 */
int weights_make(const inlay_sinusoid *sinusoid, int64_t seed, size_t vocab, size_t dim, const struct tokens *tokens,
                 struct weights *weights);

/** Loads a table from a .npy file. */
int weights_load(const char *path, struct weights *weights);

void weights_free(struct weights *weights);

#endif
