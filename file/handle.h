/* SPDX-License-Identifier: MIT */
/*
 * The inlay_file handle. Everything except `reader`, `cap` and `kept` is immutable once the file is open.
 */
#pragma once

#include <stdatomic.h>

#include "cold/cap.h"
#include "formats/catalog.h"
#include "mapping.h"

struct inlay_file {
    inlay_file_options options;
    struct inlay_mapping *mappings; /**< [mapping_count], one per file with tensors */
    size_t mapping_count;
    struct inlay_catalog catalog;
    inlay_file_reader reader; /**< all zero: rows are in memory, and reads do nothing */
    struct inlay_cap cap;
    _Atomic(struct inlay_kept *) kept; /**< memory of views */
};

/** Returns memory that lives until the file is closed, aligned for pointers; null if allocation fails. Thread-safe. */
void *inlay_file_keep(inlay_file *file, size_t bytes);

/** Publishes kept memory as the complete copy of a tensor, for inlay_file_find_copy(). */
void inlay_file_set_copy(void *memory, const inlay_file_tensor *of);

/** Returns the copy of a tensor, or null. If several threads have copied it, returns any of their copies. */
const void *inlay_file_find_copy(inlay_file *file, const inlay_file_tensor *of);

/** Starts with nothing resident in the mappings of a file, which must be set up for random reads. Does nothing if they
    are copied or loaded. */
void inlay_file_start_reads(inlay_file *file);
