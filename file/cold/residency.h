/* SPDX-License-Identifier: MIT */
/*
 * Tables larger than memory: what a file keeps for inlay_file_prefetch(), inlay_file_read_begin() and
 * inlay_file_read_end(). Whether pages are requested is advice.h's subject, which pages are row_pages.h's, and which
 * are dropped cap.h's.
 */
#ifndef INLAY_FILE_RESIDENCY_H
#define INLAY_FILE_RESIDENCY_H

#include "cold/cap.h"

/** All zero: of a file whose rows are in memory, for which the three functions do nothing. */
struct inlay_residency {
    const struct inlay_mapping *mappings; /**< [count] */
    size_t count;
    inlay_file_reader reader;
    struct inlay_cap cap;
};

/**
 * Begins with nothing resident in the mappings of a file, which must be for reads at random. If they are copied or
 * loaded, their rows are in memory and nothing is prepared.
 *
 * @param residency       all zero
 * @param mappings        [count], which must outlive it
 * @param resident_bytes  the cap of bytes that may be resident; 0: none
 */
void inlay_residency_start(struct inlay_residency *residency, const struct inlay_mapping *mappings, size_t count,
                           size_t resident_bytes);

#endif
