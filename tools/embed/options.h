/* SPDX-License-Identifier: MIT */
/*
 * The options of `inlay embed`, checked without opening a file. This part must not open, read or compute anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/numbers.h"

/** The source of the sequences. */
enum source { SOURCE_NONE, SOURCE_TEXT, SOURCE_FILE, SOURCE_IDS };

/** The source of token rows. TABLE_LAYER is the whole layer of a model, TABLE_TENSOR a single tensor of it. */
enum table_kind { TABLE_FIXED, TABLE_RANDOM, TABLE_FILE, TABLE_TENSOR, TABLE_LAYER };

/** The source of positions. */
enum positions_kind { POSITIONS_SINUSOID, POSITIONS_LEARNED, POSITIONS_NONE };

/** Numbers that aren't given are 0, unless 0 is a valid value. */
struct embed_options {
    enum source source;
    const char **input; /**< [inputs]: the arguments of --text, --text-file or --ids */
    size_t inputs;
    int64_t max_tokens;
    int64_t length;
    bool print_vocab;

    const char *model;  /**< null: no model file */
    const char *prefix; /**< of the names of its layer's tensors; null: the usual names */
    enum table_kind table;
    const char *table_name;        /**< argument of --table: a file, or a tensor of the model */
    inlay_element_type table_type; /**< element type of a file; 0: as in the file */
    int64_t vocab;
    int64_t dim;
    int64_t seed;

    enum positions_kind positions;
    const char *positions_file;
    int64_t start;
    bool has_start; /**< --start was given */
    struct scale scale;
    double base;
    inlay_sinusoid_layout layout;

    const char *out;
    const char *plot;
    bool force;
    bool explain;
    int64_t threads;
};

/** Parses argv into *options, or prints help: HELPED. */
int embed_options_parse(int argc, char **argv, struct embed_options *options);
