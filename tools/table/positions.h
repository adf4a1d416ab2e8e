/* SPDX-License-Identifier: MIT */
/*
 * The positions of `inlay table`, which are its rows: a range, or a list of real numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"

struct positions {
    bool is_range;
    int64_t first;       /**< of a range */
    size_t n;            /**< rows */
    struct numbers list; /**< [n], where it is no range */
};

/** Reads "A:B" or what numbers.h reads. The caller frees positions->list in any case. */
int positions_read(const char *text, struct positions *positions);

/** The position of a row. */
double position_at(const struct positions *positions, size_t row);

/** Makes rows [row, row + n) of a sinusoid's table, contiguous. */
int positions_make(const struct positions *positions, const inlay_sinusoid *sinusoid, size_t row, size_t n,
                   inlay_element_type type, size_t dim, void *out, const inlay_executor *executor);

/** "positions A:B", or how many there are in a list and which is the first and the last. */
void positions_describe(const struct positions *positions, char *text, size_t size);
