/* SPDX-License-Identifier: MIT */
/*
 * Reading and validation of positions: lists and ranges.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>

/* Returns the bytes of one position of a list, or 0 for an invalid type. */
size_t inlay_position_bytes(inlay_position_type type);

/* Returns the index of the first of n positions that is out of range: an integer outside [0, 2^31), a real number of
   magnitude 2^31 or more, or NaN. Returns n if there is none. */
size_t inlay_first_bad_position(const void *positions, inlay_position_type type, size_t n);

/* Returns positions[i], or 0 if it is out of range, since another thread may have changed it after validation. Converts
   between floating-point types, so the environment must be guarded. */
double inlay_position_at(const void *positions, inlay_position_type type, size_t i);

/* Returns true if positions [start, start + n) are in [0, limit); otherwise sets *fault to the first that isn't. */
bool inlay_positions_in(int64_t start, size_t n, uint64_t limit, inlay_fault *fault);
