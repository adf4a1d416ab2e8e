// SPDX-License-Identifier: MIT
//
// The memory of tables that no cache holds. It is filled once for each size of pages and shared by all shapes that read
// such a table: any bytes are rows of any type. The two functions keep only the memory of the last size of pages.
#pragma once

#include "shapes/pages.h"

// Returns at least that many bytes of floats in [-1, 1). Memory that an earlier call returned can become invalid.
const void *table_memory(PageSize size, std::size_t bytes);

// The same for the scales of such a table: floats near 1, whose bytes are ordinary scales of E8M0 as well.
const void *scale_memory(PageSize size, std::size_t bytes);

// Fills floats with values of all signs and many exponents in [-1, 1).
void fill_floats(float *x, std::size_t n);
