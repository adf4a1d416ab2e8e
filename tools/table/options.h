/* SPDX-License-Identifier: MIT */
/*
 * The options of `inlay table`, checked without opening a file. This part must not open, read or compute anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "options/options.h"

struct table_options {
    struct command_line line;  /**< which options were given */
    const char *positions;     /**< a range, or a list for numbers.h; null only with print_frequencies */
    const char *inv_freq;      /**< a list for numbers.h; null: none */
    inlay_sinusoid_spec spec;  /**< a rotary table uses only dim, base and float_angles */
    inlay_sinusoid_spec other; /**< the table to compare with (--compare) */
    bool compare;
    bool print_frequencies;
    bool drift;

    bool rope;                /**< make a rotary table */
    inlay_rotary_spec rotary; /**< without the factors of LongRoPE */
    inlay_rotary_layout rotary_layout;
    const char *short_factors; /**< lists for numbers.h */
    const char *long_factors;

    inlay_element_type type;
    const char *out;
    const char *plot;
    bool force;
    int64_t threads;

    /* Values that are copied to the specs above. */
    int64_t dim;
    int64_t shift;
    bool float_angles;
    bool no_truncate;
};

/** Parses argv into *options, or prints help: HELPED. */
int table_options_parse(int argc, char **argv, struct table_options *options);
