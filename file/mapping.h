/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one regular file in memory: mapped, copied, or mapped and loaded. Exactly the bytes that the file had
 * when it was opened are there; its descriptor is closed again before the call returns.
 */
#pragma once

#include "error.h"

/** The bytes of a file. All zero: none. */
struct inlay_mapping {
    const unsigned char *bytes; /**< [size], at the beginning of a page */
    size_t size;                /**< of the file, >= 1 */
    inlay_file_memory memory;   /**< how the bytes came here */
    inlay_file_opened file;     /**< which file they are of, with the path given */
};

/** Maps, copies or loads a regular file of 1 to `most` bytes. */
bool inlay_mapping_open(const char *path, inlay_file_memory memory, size_t most, struct inlay_mapping *mapping,
                        inlay_file_error *error);

/** Advises the system that rows will be read at random: no readahead, which would read megabytes for each row. Headers
    should have been read before. Affects only mappings that are neither copied nor loaded. */
void inlay_mapping_advise_random(const struct inlay_mapping *mapping);

/** Unmaps the bytes. */
void inlay_mapping_close(struct inlay_mapping *mapping);
