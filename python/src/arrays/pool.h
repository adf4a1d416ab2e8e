/* SPDX-License-Identifier: MIT */
/*
 * Memory for outputs that is reused: a block whose last reference is released is kept for the next output of its size,
 * so that no output waits for the kernel to provide pages. Nothing here knows Python, and every function may be called
 * from any thread, with or without the GIL.
 */
#pragma once

#include "arrays/owner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of memory. Its last user gives it back to the pool, which alone uses the other fields. */
struct block {
    struct owner owner;
    void *data; /* aligned to 64 bytes */
    size_t bytes;
    unsigned size_class;
    bool mapped;                          /* by mmap, else by aligned_alloc */
    bool huge;                            /* the system has huge pages for it */
    struct block *before, *after;         /* in the list of its class */
    struct block *returned_before, *next; /* in the list by time of return */
};

/* Returns a block of at least `bytes` bytes with one user, or null. Its contents are undefined. */
struct block *pool_get(size_t bytes);

/* What the pool holds. Idle blocks are those that wait for the next output. */
struct pool_stats {
    size_t limit_bytes; /* the most that idle blocks may have together */
    size_t idle_bytes, idle_blocks;
    size_t used_bytes, used_blocks;
    uint64_t reused, allocated, released; /* blocks taken from the pool, from the system, and given back to it */
};

/* Returns what the pool holds now. */
struct pool_stats pool_stats(void);

/* Sets the limit of idle bytes, and releases the blocks that were not used for the longest time until it holds. */
void pool_set_limit(size_t bytes);

/* Releases all idle blocks and returns their bytes. */
size_t pool_trim(void);

/* Prepares the pool, and makes it survive fork(). To be called once, before the others. */
void pool_init(void);
