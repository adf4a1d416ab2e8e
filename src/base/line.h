/* SPDX-License-Identifier: MIT */
/*
 * The cache line of every CPU that inlay knows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INLAY_CACHE_LINE = 64 };

/* Prefetches the line at an address, which may be one that cannot be read: to L1 if it is used soon, else to L2, which
   can have more requests to memory under way. */
static inline void inlay_prefetch_line(const unsigned char *at, bool near)
{
    if (near)
        __builtin_prefetch(at, 0, 3);
    else
        __builtin_prefetch(at, 0, 2);
}

/* Prefetches all lines that an array lies in. */
static inline void inlay_prefetch_lines(const unsigned char *array, size_t bytes, bool near)
{
    const unsigned char *line = array - (uintptr_t)array % INLAY_CACHE_LINE;
    for (; line < array + bytes; line += INLAY_CACHE_LINE)
        inlay_prefetch_line(line, near);
}
