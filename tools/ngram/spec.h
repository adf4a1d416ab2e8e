/* SPDX-License-Identifier: MIT */
/*
 * Specs of hashed n-grams from JSON files. Keys are the fields of inlay_ngram_spec. Files are untrusted: messages name
 * the file, the key and the value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

/** A spec and the arrays that it points to. All zero before it is read. */
struct ngram_spec {
    inlay_ngram_spec spec;
    bool map_required; /**< the spec requires a token map that isn't in the file */
    size_t tables;     /**< 1 + the largest table index of a column */
    void *memory[8];   /**< [memory_count] owned memory: arrays, and files that contain arrays */
    size_t memory_count;
};

/** Reads a spec. */
int ngram_spec_read(const char *path, struct ngram_spec *spec);

/** Replaces a spec's token map with the one in a .npy file. */
int ngram_spec_map(const char *path, struct ngram_spec *spec);
