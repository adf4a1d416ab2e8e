/* SPDX-License-Identifier: MIT */
/*
 * The smaller and the larger of two sizes.
 */
#pragma once

#include <stddef.h>

static inline size_t inlay_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t inlay_most(size_t a, size_t b)
{
    return a > b ? a : b;
}
