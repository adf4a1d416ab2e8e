/* SPDX-License-Identifier: MIT */
/*
 * The post-op dropout. An element's fate depends only on its index, so results don't depend on how a call is split.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Applies inverted dropout with probability p, 0 <= p < 1, to a float32 row, in place. Element first_element + column
 * is kept if its word (base/philox.h) is at least p * 2^32, rounded to nearest even; it is then multiplied by the
 * float32 1 / (1 - p). Otherwise it becomes +0. p = 0 leaves all bits unchanged. Runs in the guarded floating-point
 * environment.
 */
void inlay_dropout(unsigned char *row, size_t columns, uint64_t first_element, uint64_t key, uint64_t offset, float p);
