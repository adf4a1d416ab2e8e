/* SPDX-License-Identifier: MIT */
/*
 * Minimum and maximum of sizes, and products that saturate.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline size_t inlay_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t inlay_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns a * b, or SIZE_MAX on overflow. */
static inline size_t inlay_product(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}
