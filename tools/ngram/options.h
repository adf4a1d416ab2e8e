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

/** A sequence. */
struct ngram_input {
    const char *text; /**< the ids themselves, or the file that has them */
    bool is_file;
    const char *history; /**< the ids before it; null: there are none */
};

/** Numbers that were not given are 0. */
struct ngram_options {
    const char *spec; /**< of JSON, or the model that has one */
    bool is_model;
    int64_t layer;             /**< of the model; -1: the only one */
    const char *token_map;     /**< null: that of the spec */
    struct ngram_input *input; /**< [inputs] */
    size_t inputs;
    size_t histories; /**< one for each sequence, or none at all */
    int64_t first_column;
    int64_t end_column; /**< 0: all from the first one on */

    const char **table; /**< [tables]: files; null if rows are random or of the model */
    size_t tables;      /**< 0: row ids are the result */
    bool model_rows;    /**< the rows are those of the model */
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

/** Parses argv into *options or prints help: HELPED. The caller frees *options in any case. */
int ngram_options_parse(int argc, char **argv, struct ngram_options *options);

void ngram_options_free(struct ngram_options *options);
