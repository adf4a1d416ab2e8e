/* SPDX-License-Identifier: MIT */
/*
 * The formats that a new table can be written in. A format opens the files, writes what comes before the elements, and
 * says where each array of the table goes; convert.c then writes all arrays some rows at a time. Sizes are known from
 * the start, so that nothing is kept in memory and nothing is written twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/stored.h"
#include "outputs/output.h"

/** Where an array of a table goes. */
struct place {
    struct output *output;
    int64_t offset; /**< of the next byte; -1: behind what was written before */
};

/** A table that is written. */
struct new_table {
    const char *path; /**< of --out */
    const char *name; /**< of its tensor, where the format has names */
    inlay_element_type type;
    size_t rows, dim;
    uint32_t group;             /**< as in inlay_table */
    struct array array[ARRAYS]; /**< of rank 0: there is none */
    struct place place[ARRAYS];
};

/** A format of files. */
struct format {
    const char *suffix; /**< ".npy" for example */
    const char *name;   /**< as messages call it */
    /** Returns whether the format has a type of elements; null: it has all, as bytes if need be. */
    bool (*holds)(inlay_element_type type);
    /** Opens the files, writes their headers, and says where arrays go, unless that is outputs->out, one behind the
        other. Returns an outcome. */
    int (*begin)(struct new_table *table, struct outputs *outputs);
    bool names;       /**< tensors have names */
    size_t alignment; /**< the file of the elements is padded with zeros to a multiple of this; 1: it is not */
};

/** Finds the format that a path names by its end; "-" is .npy. MISUSED, with a message, where it names none or one
   without such elements. */
int format_of_path(const char *path, inlay_element_type type, const struct format **found);

/** Writes bytes of an array and moves its place behind them. */
int place_write(struct place *place, const void *bytes, size_t n);

/** Writes zeros behind `bytes` bytes up to a multiple of an alignment, at most 64. */
int place_pad(struct place *place, size_t bytes, size_t alignment);
