/* SPDX-License-Identifier: MIT */
/*
 * The checks of `inlay selftest`. A check computes results with the library and passes their bytes to its trial, which
 * hashes them. The hash must be the same on every machine, on every ISA, and under every condition (process.c lists
 * them). A check reports other errors with trial_fault().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <inlay/inlay.h>

enum { TRIAL_FAULT_BYTES = 160, CHECK_NAME_BYTES = 64 };

/** One run of a check under one condition. */
struct trial {
    uint64_t hash;                  /**< hash of the bytes so far */
    const inlay_executor *executor; /**< executor for all calls; null: calls aren't split */
    inlay_stores stores;            /**< stores of all layers */
    size_t shift;                   /**< offset of arrays from their alignment, in bytes */
    char fault[TRIAL_FAULT_BYTES];  /**< the error; empty: none */
};

/** Begins a trial. The caller may then set executor, stores and shift. This ends the previous trial: it empties the
    arena, which has all arrays and handles of a trial. */
struct trial trial_begin(void);

/** Allocates handles from the arena. They need not be destroyed. */
extern const inlay_allocator in_arena;

/** The executor for split calls. It runs on one thread. */
extern const inlay_executor out_of_order;

/** Returns an array of `size` bytes filled with a pattern, at any address. */
void *trial_array(struct trial *trial, size_t size);

/** Returns an array of n floats of ordinary magnitude, including signed zeros and subnormals, that depend only on
    `seed`. */
void *trial_floats(struct trial *trial, size_t n, uint64_t seed);

/** Returns an array of `size` random bytes that depend only on `seed`. */
void *trial_noise(struct trial *trial, size_t size, uint64_t seed);

/** Returns the next number of a generator (splitmix64). */
uint64_t next_random(uint64_t *state);

/** Returns an array of n ids of a type, at any address. The ids are in [low, low + count) and depend only on *state. */
void *trial_ids(struct trial *trial, inlay_id_type type, size_t n, int64_t low, uint64_t count, uint64_t *state);

/** Returns a view of a random table of any type, with scales and zero points if the type has them. */
inlay_table trial_table(struct trial *trial, inlay_element_type type, size_t rows, size_t dim, uint64_t seed);

/** Adds data [size] to the hash, 64-bit FNV-1a, which depends on every bit and on the order of the bytes. */
void trial_bytes(struct trial *trial, const void *data, size_t size);

/** Adds rows [n, dim] of an output type to the hash, with all NaNs made equal. Also adds all bytes between the rows. */
void trial_rows(struct trial *trial, const void *rows, size_t n, size_t dim, size_t stride_bytes,
                inlay_element_type type);

/** Reports an error. Only the first is kept. */
void trial_fault(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Reports an error if a call failed. */
void trial_ok(struct trial *trial, const char *call, inlay_status status);

/** Returns a sinusoid. If it can't be made, reports an error and returns null. */
inlay_sinusoid *trial_sinusoid(struct trial *trial, const inlay_sinusoid_spec *spec);

/** Makes a layer, runs it on a batch, and adds the output, which has `rows` rows, to the hash. */
void trial_forward(struct trial *trial, const inlay_layer_spec *spec, const inlay_batch *batch, size_t rows);

/** Returns true if rows of a type can have `dim` columns: a whole number of blocks and groups. */
bool has_dim(inlay_element_type type, size_t dim);

/** Checks of one kind. Each check has an item: a row of the array `rows`, which begins with the name of the check, or a
    number, which item() gives a name. */
struct family {
    const char *name;
    void (*run)(struct trial *trial, size_t item);
    const void *rows; /**< null: items are numbers */
    size_t row_bytes, row_count;
    const char *(*item)(size_t item); /**< for numbers: the name; null past the last one */
    bool once;                        /**< checks run under a single condition, because each takes long */
};

/** The fields of a family for which items are the rows of an array. */
#define ITEMS_OF(table) .rows = (table), .row_bytes = sizeof *(table), .row_count = sizeof(table) / sizeof *(table)

/** Returns the name of an item of a family; null past the last one. */
const char *item_name(const struct family *family, size_t item);

/** Returns the names of items that are element types. */
const char *element_item(size_t item);

extern const struct family golden_checks, ggml_checks, quantize_checks, layer_checks, type_checks, plain_checks,
    recipe_checks, sinusoid_checks, rotary_checks, rotation_checks, random_checks, ngram_checks, error_checks;
