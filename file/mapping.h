/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one regular file in memory: mapped, copied, or mapped and loaded. They are exactly the bytes that the
 * file had when it was opened; its descriptor is closed before the call returns.
 */
#pragma once

#include "error.h"

/** The bytes of a file. All zero: none. */
struct inlay_mapping {
    const unsigned char *bytes; /**< [size], page-aligned */
    size_t size;                /**< of the file, >= 1 */
    inlay_file_memory memory;   /**< how the bytes were obtained */
    inlay_file_opened file;     /**< the file, with the given path */
};

/** Maps, copies or loads a regular file of 1 to `most` bytes. */
bool inlay_mapping_open(const char *path, inlay_file_memory memory, size_t most, struct inlay_mapping *mapping,
                        inlay_file_error *error);

/** Advises the system that rows will be read at random: readahead would read megabytes for each row. Read headers
   before this. Has no effect on mappings that are copied or loaded. */
void inlay_mapping_advise_random(const struct inlay_mapping *mapping);

/** Unmaps the bytes. */
void inlay_mapping_close(struct inlay_mapping *mapping);
