/* SPDX-License-Identifier: MIT */
/*
 * What the command line of `inlay embed` says, checked as far as that goes without opening a file. This part must not
 * open, read or compute anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"

/** Where the sequences come from. */
enum source { SOURCE_NONE, SOURCE_TEXT, SOURCE_FILE, SOURCE_IDS };

/** Where the token rows come from. TABLE_LAYER is the layer of a model, with all else that it has; TABLE_TENSOR one
    tensor of a model. */
enum table_kind { TABLE_FIXED, TABLE_RANDOM, TABLE_FILE, TABLE_TENSOR, TABLE_LAYER };

/** Where the positions come from. */
enum positions_kind { POSITIONS_SINUSOID, POSITIONS_LEARNED, POSITIONS_NONE };

/** Numbers that were not given are 0 where 0 is no value of theirs. */
struct embed_options {
    enum source source;
    const char **input; /**< [inputs]: the arguments of --text, --text-file or --ids */
    size_t inputs;
    int64_t max_tokens;
    int64_t length;
    bool print_vocab;

    const char *model; /**< null: no model file */
    enum table_kind table;
    const char *table_name;        /**< as --table says: a file, or a tensor of the model */
    inlay_element_type table_type; /**< of a file; 0: what the file says */
    int64_t vocab;
    int64_t dim;
    int64_t seed;

    enum positions_kind positions;
    const char *positions_file;
    int64_t start;
    bool has_start; /**< whether it was given */
    struct scale scale;
    double base;
    inlay_sinusoid_layout layout;

    const char *out;
    const char *plot;
    bool force;
    bool explain;
    bool time;
    int64_t threads;
};

/** Parses argv into *options, or prints help: HELPED. */
int embed_options_parse(int argc, char **argv, struct embed_options *options);
