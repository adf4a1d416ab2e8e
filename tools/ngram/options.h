/* SPDX-License-Identifier: MIT */
/*
 * The options of `inlay ngram`, checked without opening a file. This part must not open, read or compute anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"

/** The i-th arguments of repeatable options, in any combination. Each option has a separate count. */
struct ngram_arguments {
    const char *ids; /**< ids of a sequence, or a file of ids */
    bool is_file;
    const char *history; /**< ids before the sequence */
    const char *table;   /**< a file of rows; "random" or "model" if the option is given once */
};

/** The source of rows. ROWS_NONE: the result is row ids. */
enum ngram_rows { ROWS_NONE, ROWS_RANDOM, ROWS_OF_FILES, ROWS_OF_MODEL };

/** Numbers are 0 if not given. */
struct ngram_options {
    const char *spec; /**< a JSON file, or a model with a spec */
    bool is_model;
    int64_t layer;         /**< layer of a model; -1: the only one */
    const char *token_map; /**< null: from the spec */
    struct ngram_arguments *given;
    size_t sequences;
    size_t histories; /**< one per sequence, or 0 */
    bool reads_stdin; /**< ids of a sequence are read from standard input */
    int64_t first_column;
    int64_t end_column; /**< 0: all columns from the first one */

    enum ngram_rows rows;
    size_t tables;
    inlay_element_type table_type;
    int64_t dim;
    int64_t seed;
    struct scale scale;
    inlay_ngram_combine combine;
    inlay_element_type type; /**< of the result */

    const char *out;
    bool force;
    int64_t threads;
};

/** Parses argv into *options, or prints help: HELPED. */
int ngram_options_parse(int argc, char **argv, struct ngram_options *options);
