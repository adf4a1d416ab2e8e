/* SPDX-License-Identifier: MIT */
/*
 * What the command line of `inlay ngram` says, checked as far as that goes without opening a file. This part must not
 * open, read or compute anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"

/** The arguments of options that can be given again, each counted by itself. */
struct ngram_arguments {
    const char *ids; /**< of a sequence, or the file that has them */
    bool is_file;
    const char *history; /**< the ids before it */
    const char *table;   /**< a file of rows; "random" or "model" alone */
};

/** Where rows come from. ROWS_NONE: row ids are the result. */
enum ngram_rows { ROWS_NONE, ROWS_RANDOM, ROWS_OF_FILES, ROWS_OF_MODEL };

/** Numbers that were not given are 0. */
struct ngram_options {
    const char *spec; /**< of JSON, or the model that has one */
    bool is_model;
    int64_t layer;         /**< of the model; -1: the only one */
    const char *token_map; /**< null: that of the spec */
    struct ngram_arguments *given;
    size_t sequences;
    size_t histories; /**< one for each sequence, or none at all */
    bool reads_stdin; /**< for the ids of a sequence */
    int64_t first_column;
    int64_t end_column; /**< 0: all from the first one on */

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
