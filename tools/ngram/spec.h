/* SPDX-License-Identifier: MIT */
/*
 * Specs of hashed n-grams from JSON files, whose keys are the fields of inlay_ngram_spec. Files come from strangers:
 * what is wrong in one is a message that names the file, the key and the value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

/** A spec and the arrays that it points to. All zero before it is read. */
struct ngram_spec {
    inlay_ngram_spec spec;
    bool map_required; /**< the token map is not in the file, and the spec means nothing without it */
    size_t tables;     /**< one more than the largest table that a column names */
    void *memory[8];   /**< [memory_count] that it owns: arrays, and the files that they come from */
    size_t memory_count;
};

/** Reads a spec. */
int ngram_spec_read(const char *path, struct ngram_spec *spec);

/** Gives a spec the token map in a .npy file, in place of its own. */
int ngram_spec_map(const char *path, struct ngram_spec *spec);
