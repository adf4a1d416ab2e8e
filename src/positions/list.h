/* SPDX-License-Identifier: MIT */
/*
 * Positions: reading them from a list, and finding the first that is out of range.
 */
#ifndef INLAY_POSITIONS_LIST_H
#define INLAY_POSITIONS_LIST_H

#include <inlay/inlay.h>

#include <stdbool.h>

/* The bytes of one position of a list; 0 for a type that is none. */
size_t inlay_position_bytes(inlay_position_type type);

/* The index of the first of n positions that is none: an integer outside [0, 2^31), a real number of 2^31 or more in
   magnitude or not a number; n where all are good. */
size_t inlay_first_bad_position(const void *positions, inlay_position_type type, size_t n);

/* positions[i], from any address; 0 where it is none, as another thread may have made it since it was checked. Converts
   between floating-point types: for the guarded environment. */
double inlay_position_at(const void *positions, inlay_position_type type, size_t i);

/* Whether positions [start, start + n) lie in [0, limit); where not, *fault tells the first that does not. */
bool inlay_positions_in(int64_t start, size_t n, uint64_t limit, inlay_fault *fault);

#endif
