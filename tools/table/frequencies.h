/* SPDX-License-Identifier: MIT */
/*
 * The frequencies that --inv-freq and --rope give.
 */
#pragma once

#include "inputs/numbers.h"
#include "table/options.h"

struct frequencies {
    struct numbers list;     /**< radians per position; none where the recipe has its own */
    double attention_factor; /**< of cosines and sines; 1 without --rope */
};

/** Reads or computes the frequencies that the options name. The caller frees frequencies->list in any case. */
int frequencies_read(const struct table_options *options, struct frequencies *frequencies);
