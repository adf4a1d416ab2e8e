/* SPDX-License-Identifier: MIT */
/*
 * Memory for outputs that is reused: a block whose last reference is released is kept for the next output of its size,
 * so that no output waits for the kernel to provide pages. Nothing here knows Python, and every function may be called
 * from any thread, with or without the GIL.
 */
#ifndef INLAY_PYTHON_ARRAYS_POOL_H
#define INLAY_PYTHON_ARRAYS_POOL_H

#include <stddef.h>
#include <stdint.h>

/* A block of memory with a count of references. */
struct block;

/* Returns a block of at least `bytes` bytes with one reference, or null. Its contents are undefined. */
struct block *pool_get(size_t bytes);

/* Returns the memory of a block, which is aligned to 64 bytes. */
void *block_data(const struct block *block);

/* Adds a reference. */
void block_hold(struct block *block);

/* Removes a reference; the last one gives the block back to the pool. */
void block_release(struct block *block);

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

#endif
