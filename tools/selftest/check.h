/* SPDX-License-Identifier: MIT */
/*
 * The checks of `inlay selftest`. A check computes results with the library and passes their bytes to its trial, which
 * hashes them. The hash must be the same on every ISA, under every condition and on every machine. A check reports
 * other errors with trial_fault().
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
    uint64_t hash;                  /**< of the bytes so far */
    const inlay_executor *executor; /**< for every call that takes one; null: calls aren't split */
    inlay_stores stores;            /**< for every layer */
    size_t shift;                   /**< offset of arrays from their alignment, in bytes */
    char fault[TRIAL_FAULT_BYTES];  /**< the error; empty: none */
};

/** Begins a trial; the caller may then set executor, stores and shift. Ends the previous trial: all arrays and handles
    of a trial are in one arena, which this empties. */
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

/** Returns an array of n ids of a type, at any address, each in [low, low + count), that depend only on *state. */
void *trial_ids(struct trial *trial, inlay_id_type type, size_t n, int64_t low, uint64_t count, uint64_t *state);

/** Returns a view of a random table of any type, with scales and zero points if the type has them. */
inlay_table trial_table(struct trial *trial, inlay_element_type type, size_t rows, size_t dim, uint64_t seed);

/** Adds data [size] to the hash, 64-bit FNV-1a. It depends on every bit and on their order. */
void trial_bytes(struct trial *trial, const void *data, size_t size);

/** Adds rows [n, dim] of an output type to the hash, with all NaNs made equal, and all bytes between the rows. */
void trial_rows(struct trial *trial, const void *rows, size_t n, size_t dim, size_t stride_bytes,
                inlay_element_type type);

/** Reports an error. Only the first is kept. */
void trial_fault(struct trial *trial, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Reports an error if a call failed. */
void trial_ok(struct trial *trial, const char *call, inlay_status status);

/** Returns a sinusoid. If it can't be made, reports an error and returns null. */
inlay_sinusoid *trial_sinusoid(struct trial *trial, const inlay_sinusoid_spec *spec);

/** Makes a layer and adds its output of `rows` rows for a batch to the hash. */
void trial_forward(struct trial *trial, const inlay_layer_spec *spec, const inlay_batch *batch, size_t rows);

/** Returns true if rows of a type can have `dim` columns, i.e. whole blocks and groups. */
bool has_dim(inlay_element_type type, size_t dim);

/** Checks of one kind. Each computes an item: a row of a table that begins with the check's name, or a number with a
    name. */
struct family {
    const char *name;
    void (*run)(struct trial *trial, size_t item);
    const void *rows; /**< null: items are numbers */
    size_t row_bytes, row_count;
    const char *(*item)(size_t item); /**< for numbers: the name; null past the last one */
    bool once;                        /**< run under a single condition, because each item takes long */
};

/** The fields of a family whose items are the rows of an array. */
#define ITEMS_OF(table) .rows = (table), .row_bytes = sizeof *(table), .row_count = sizeof(table) / sizeof *(table)

/** Returns the name of an item of a family; null past the last one. */
const char *item_name(const struct family *family, size_t item);

/** Returns the names of items that are element types. */
const char *element_item(size_t item);

extern const struct family golden_checks, ggml_checks, quantize_checks, layer_checks, type_checks, plain_checks,
    recipe_checks, sinusoid_checks, rotary_checks, rotation_checks, random_checks, ngram_checks, error_checks;
