/* SPDX-License-Identifier: MIT */
/*
 * Cache lines, 64 bytes on all supported CPUs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INLAY_CACHE_LINE = 64 };

/* Returns the first address from `at` on that begins a cache line. */
static inline unsigned char *inlay_next_line(unsigned char *at)
{
    return at + (INLAY_CACHE_LINE - (uintptr_t)at % INLAY_CACHE_LINE) % INLAY_CACHE_LINE;
}

/* Prefetches the line at an address, which need not be readable: to L1 if it is used soon, else to L2, which allows
   more outstanding requests to memory. */
static inline void inlay_prefetch_line(const unsigned char *at, bool near)
{
    if (near)
        __builtin_prefetch(at, 0, 3);
    else
        __builtin_prefetch(at, 0, 2);
}

/* Prefetches all lines of an array. */
static inline void inlay_prefetch_lines(const unsigned char *array, size_t bytes, bool near)
{
    const unsigned char *line = array - (uintptr_t)array % INLAY_CACHE_LINE;
    for (; line < array + bytes; line += INLAY_CACHE_LINE)
        inlay_prefetch_line(line, near);
}
