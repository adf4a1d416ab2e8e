/* SPDX-License-Identifier: MIT */
/*
 * What the command line of `inlay table` says, checked as far as that goes without opening a file. This part must not
 * open, read or compute anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "options/options.h"

struct table_options {
    struct command_line line;  /**< which options were given */
    const char *positions;     /**< a range, or as numbers.h reads it; null only with print_frequencies */
    const char *inv_freq;      /**< as numbers.h reads it; null: none */
    inlay_sinusoid_spec spec;  /**< of a rotary table only dim, base and float_angles count */
    inlay_sinusoid_spec other; /**< what --compare compares the table with */
    bool compare;
    bool print_frequencies;

    bool rope;                /**< a rotary table */
    inlay_rotary_spec rotary; /**< without the factors of LongRoPE */
    inlay_rotary_layout rotary_layout;
    const char *short_factors; /**< as numbers.h reads them */
    const char *long_factors;

    inlay_element_type type;
    const char *out;
    const char *plot;
    bool force;
    int64_t threads;

    /* Values from which the specs above are completed. */
    int64_t dim;
    int64_t shift;
    bool float_angles;
    bool no_truncate;
};

/** Parses argv into *options, or prints help: HELPED. */
int table_options_parse(int argc, char **argv, struct table_options *options);
