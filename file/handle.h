/* SPDX-License-Identifier: MIT */
/*
 * What an inlay_file is. Everything but `residency` and `kept` is immutable once the file is open.
 */
#ifndef INLAY_FILE_HANDLE_H
#define INLAY_FILE_HANDLE_H

#include <stdatomic.h>

#include "cold/residency.h"
#include "formats/catalogue.h"
#include "mapping.h"

struct inlay_file {
    inlay_file_options options;
    struct inlay_mapping *mappings; /**< [mapping_count], one for each file that holds tensors */
    size_t mapping_count;
    struct inlay_catalogue catalogue;
    struct inlay_residency residency;
    _Atomic(struct inlay_kept *) kept; /**< memory of views */
};

/** Returns memory that lives until the file is closed, aligned for pointers; null if there is none. Any number of
   threads may call it. */
void *inlay_file_keep(inlay_file *file, size_t bytes);

#endif
