/* SPDX-License-Identifier: MIT */
/*
 * Reading and validation of positions: of a caller's list, and of ranges.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>

/* Returns the bytes of one position of a list, or 0 for an invalid type. */
size_t inlay_position_bytes(inlay_position_type type);

/* Returns the index of the first of n positions that is out of range: an integer outside [0, 2^31), a real number of
   magnitude 2^31 or more, or NaN. Returns n if there is none. */
size_t inlay_first_bad_position(const void *positions, inlay_position_type type, size_t n);

/* Returns positions[i], at any address, or 0 if it is out of range, since another thread may have changed it after its
   validation. Converts between floating-point types, so the environment must be guarded. */
double inlay_position_at(const void *positions, inlay_position_type type, size_t i);

/* Returns whether positions [start, start + n) lie in [0, limit); if not, writes the first that does not to *fault. */
bool inlay_positions_in(int64_t start, size_t n, uint64_t limit, inlay_fault *fault);
