/* SPDX-License-Identifier: MIT */
/*
 * The post-op dropout. Whether an element is dropped follows from its index, so that no cut of a call changes a result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Applies inverted dropout with probability p, 0 <= p < 1, to a float32 row at any address, in place. Element
 * first_element + column is kept if its word (base/philox.h) is at least p * 2^32, rounded to nearest even, and is then
 * multiplied by the float32 1 / (1 - p); otherwise it becomes +0. p = 0 leaves all bits as they are. Runs in the
 * guarded floating-point environment.
 */
void inlay_dropout(unsigned char *row, size_t columns, uint64_t first_element, uint64_t key, uint64_t offset, float p);
