/* SPDX-License-Identifier: MIT */
/*
 * What the command line of `inlay table` says, checked as far as that goes without opening a file. Included by table.c.
 * It must not open, read or compute anything.
 */
#ifndef INLAY_TOOL_TABLE_OPTIONS_H
#define INLAY_TOOL_TABLE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "rope_options.h"

struct table_options {
    bool help;
    const char *positions; /**< as positions.h reads it; null only with print_frequencies */
    const char *inv_freq;  /**< as numbers.h reads it; null: none */
    inlay_sinusoid_spec spec;
    bool compare;
    inlay_sinusoid_spec other; /**< what the table is compared with */
    bool rope;                 /**< a rotary table: of the spec only dim, base and float_angles count */
    struct rope_options rope_options;
    bool print_frequencies;
    inlay_element_type type;
    const char *out;
    const char *plot;
    int64_t threads;
};

/** Parses argv into *options. */
int table_options_parse(int argc, char **argv, struct table_options *options);

#endif
