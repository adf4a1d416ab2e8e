/* SPDX-License-Identifier: MIT */
/*
 * The formats of new tables. A format opens the files, writes the headers, and sets the destination of each array.
 * convert.c then writes all arrays, a few rows at a time. All sizes are known from the start, so no header is rewritten
 * and no array is buffered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "inputs/stored.h"
#include "outputs/output.h"

/** The destination of an array. */
struct place {
    struct output *output;
    int64_t offset; /**< file position of the next byte; -1: append */
};

/** A table to write. */
struct new_table {
    const char *path; /**< of --out */
    const char *name; /**< name of its tensor, if the format has names */
    inlay_element_type type;
    size_t rows, dim;
    uint32_t group;             /**< as in inlay_table */
    struct array array[ARRAYS]; /**< rank 0: absent */
    struct place place[ARRAYS];
};

/** A file format. */
struct format {
    const char *suffix; /**< e.g. ".npy" */
    const char *name;   /**< for messages */
    /** Returns true if the format supports an element type. Null: the format supports all types, some only as bytes. */
    bool (*holds)(inlay_element_type type);
    /** Opens the files and writes their headers. Sets the destinations of arrays; by default, an array is appended to
        outputs->out. Returns an outcome. */
    int (*begin)(struct new_table *table, struct outputs *outputs);
    bool names;       /**< tensors have names */
    size_t alignment; /**< the file of the elements is zero-padded to a multiple of this size; 1: no padding */
};

/** Finds the format of a path by its suffix; "-" is .npy. Returns MISUSED, with a message, if the suffix is unknown or
    the format doesn't support the type. */
int format_of_path(const char *path, inlay_element_type type, const struct format **found);

/** Writes bytes of an array and advances its destination. */
int place_write(struct place *place, const void *bytes, size_t n);

/** Writes zeros after `bytes` bytes, up to a multiple of `alignment`, which is at most 64. */
int place_pad(struct place *place, size_t bytes, size_t alignment);
