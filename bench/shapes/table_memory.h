// SPDX-License-Identifier: MIT
//
// Memory for tables larger than any cache. It is filled once per page size and shared by all shapes that read such a
// table: any bytes are rows of any type. Both functions keep only the memory of the last page size.
#pragma once

#include "shapes/pages.h"

// Returns at least `bytes` bytes of floats in [-1, 1). Invalidates memory from earlier calls if it has to be replaced.
const void *table_memory(PageSize size, std::size_t bytes);

// Returns scales for such a table, with the same lifetime: finite floats whose bytes are also ordinary E8M0 scales.
const void *scale_memory(PageSize size, std::size_t bytes);

// Fills floats with values in [-1, 1), of both signs and many exponents.
void fill_floats(float *x, std::size_t n);
