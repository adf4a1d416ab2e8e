/* SPDX-License-Identifier: MIT */
/*
 * The options of `inlay table` that belong to --rope: what they are called, which scaling takes which, which it cannot
 * do without. Included by table_options.c and by rope.c, which computes what they ask for.
 */
#ifndef INLAY_TOOL_ROPE_OPTIONS_H
#define INLAY_TOOL_ROPE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <inlay/inlay.h>

enum rope_option {
    ROPE_SCALING,
    ROPE_LAYOUT,
    ROPE_FACTOR,
    ROPE_ORIGINAL_LENGTH,
    ROPE_LENGTH,
    ROPE_LOW_FREQ_FACTOR,
    ROPE_HIGH_FREQ_FACTOR,
    ROPE_BETA_FAST,
    ROPE_BETA_SLOW,
    ROPE_NO_TRUNCATE,
    ROPE_MSCALE,
    ROPE_MSCALE_ALL_DIM,
    ROPE_ATTENTION_FACTOR,
    ROPE_SHORT_FACTORS,
    ROPE_LONG_FACTORS,
    ROPE_OPTIONS
};

struct rope_options {
    bool given[ROPE_OPTIONS];
    inlay_rotary_spec spec; /**< without dim, base and the factors of LongRoPE */
    inlay_rotary_layout layout;
    const char *short_factors; /**< as numbers.h reads them */
    const char *long_factors;
};

/** No --rope, and the numbers as the models have them. */
void rope_options_start(struct rope_options *options);

/** Takes one option and its argument. */
int rope_options_parse(struct rope_options *options, enum rope_option option, const char *text);

/** Checks the options against each other, once all are known. */
int rope_options_check(const struct rope_options *options, int64_t dim, double base);

#endif
