/* SPDX-License-Identifier: MIT */
/*
 * A pool of memory for outputs. A released block is kept for the next output of the same size. That output then needs
 * no new pages from the kernel. Nothing here depends on Python; every function may be called from any thread, with or
 * without the GIL.
 */
#pragma once

#include "arrays/owner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of memory. Its last user returns it to the pool. Only the pool uses fields after `bytes`. */
struct block {
    struct owner owner;
    void *data; /* aligned to 64 bytes */
    size_t bytes;
    unsigned size_class;
    bool mapped;                          /* by mmap, else by aligned_alloc */
    bool huge;                            /* on huge pages */
    struct block *before, *after;         /* list of its class */
    struct block *returned_before, *next; /* list by time of return */
};

/* Returns a block of at least `bytes` bytes with one user, or null. Its contents are undefined. */
struct block *pool_get(size_t bytes);

/* Statistics of the pool. Idle blocks wait for the next output. */
struct pool_stats {
    size_t limit_bytes; /* maximum of idle_bytes */
    size_t idle_bytes, idle_blocks;
    size_t used_bytes, used_blocks;
    uint64_t reused, allocated, released; /* blocks taken from the pool, allocated by the system, returned to the
                                             system */
};

/* Returns the current statistics. */
struct pool_stats pool_stats(void);

/* Sets the limit of idle bytes. Releases the oldest idle blocks above it. */
void pool_set_limit(size_t bytes);

/* Releases all idle blocks and returns their bytes. */
size_t pool_trim(void);

/* Prepares the pool and makes it survive fork(). Call it once, before the others. */
void pool_init(void);
