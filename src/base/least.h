/* SPDX-License-Identifier: MIT */
/*
 * The smaller and the larger of two sizes, and products that may exceed the address space.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline size_t inlay_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t inlay_most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns a * b, or SIZE_MAX if that is less. */
static inline size_t inlay_product(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}
