/* SPDX-License-Identifier: MIT */
/*
 * Each size class has a list of idle blocks, with the most recently returned block first. There are eight classes per
 * power of two. Another list orders all idle blocks by time of return. If idle blocks exceed the limit, the oldest ones
 * are released. A block of 2 MiB or more is a separate mapping, on huge pages if one fits in it. One mutex
 * guards the pool. It is never held while memory is mapped or released.
 */
#define _GNU_SOURCE
#include "arrays/pool.h"

#include <inlay/base.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SMALLEST_LOG2 = 12, /* the smallest block has 4 KiB */
    LARGEST_LOG2 = 46,
    PER_DOUBLING = 8,
    CLASSES = (LARGEST_LOG2 - SMALLEST_LOG2) * PER_DOUBLING + 1,
    ALIGNMENT = 64,
    MIN_MAPPED = 2 << 20, /* size classes from here on are whole pages */
};

static struct {
    pthread_mutex_t mutex;
    struct block *classes[CLASSES]; /* the most recently returned block of each class */
    struct block *oldest, *newest;
    struct pool_stats stats;
    bool huge_pages;  /* true if the system has them */
    size_t huge_page; /* size of a huge page in bytes */
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- Sizes ------------------------------------------------------------------------------------------------------ */

/* Rounds up to the size of a class. Returns the class, or CLASSES if none is large enough. */
static unsigned class_of(size_t bytes, size_t *rounded)
{
    *rounded = (size_t)1 << SMALLEST_LOG2;
    if (bytes <= *rounded)
        return 0;
    if (bytes > (size_t)1 << LARGEST_LOG2)
        return CLASSES;
    const size_t last = bytes - 1;
    const unsigned log2 = 63 - (unsigned)__builtin_clzll(last), step_log2 = log2 - 3;
    const size_t steps = (last >> step_log2) + 1; /* 9 to 16 */
    *rounded = steps << step_log2;
    return (log2 - SMALLEST_LOG2) * PER_DOUBLING + (unsigned)steps - PER_DOUBLING;
}

/* ---- Memory of the system --------------------------------------------------------------------------------------- */

/* Returns a mapping, aligned to huge pages if one fits in it, or null on failure. */
static void *map(size_t bytes)
{
    const size_t more = bytes >= pool.huge_page ? pool.huge_page : 0;
    char *start = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    if (more == 0)
        return start;
    char *data = start + (-(uintptr_t)start & (more - 1));
    if (data > start)
        munmap(start, (size_t)(data - start));
    if (data < start + more)
        munmap(data + bytes, (size_t)(start + more - data));
    return data;
}

static struct block *block_create(size_t bytes, unsigned size_class)
{
    struct block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    block->bytes = bytes;
    block->size_class = size_class;
    block->mapped = bytes >= MIN_MAPPED;
    block->data = block->mapped ? map(bytes) : aligned_alloc(ALIGNMENT, bytes);
    if (block->data == NULL) {
        free(block);
        return NULL;
    }
    size_t advised = 0;
    if (block->mapped)
        inlay_huge_pages_advise(block->data, bytes, &advised);
    block->huge = pool.huge_pages && advised > 0;
    return block;
}

static void block_destroy(struct block *block)
{
    if (block->mapped)
        munmap(block->data, block->bytes);
    else
        free(block->data);
    free(block);
}

/* Lets the kernel reclaim an idle block under memory pressure; until then its pages stay. Does so only for huge pages,
   because with small pages madvise() takes as long as writing the memory. */
static void allow_reclaim(const struct block *block)
{
    if (block->huge)
        madvise(block->data, block->bytes & -pool.huge_page, MADV_FREE);
}

/* ---- Idle blocks; the mutex is held ----------------------------------------------------------------------------- */

static void add_idle(struct block *block)
{
    struct block **top = &pool.classes[block->size_class];
    block->before = NULL;
    block->after = *top;
    if (*top != NULL)
        (*top)->before = block;
    *top = block;
    block->next = NULL;
    block->returned_before = pool.newest;
    *(pool.newest != NULL ? &pool.newest->next : &pool.oldest) = block;
    pool.newest = block;
    pool.stats.idle_bytes += block->bytes;
    pool.stats.idle_blocks++;
}

static void remove_idle(struct block *block)
{
    *(block->before != NULL ? &block->before->after : &pool.classes[block->size_class]) = block->after;
    if (block->after != NULL)
        block->after->before = block->before;
    *(block->returned_before != NULL ? &block->returned_before->next : &pool.oldest) = block->next;
    *(block->next != NULL ? &block->next->returned_before : &pool.newest) = block->returned_before;
    pool.stats.idle_bytes -= block->bytes;
    pool.stats.idle_blocks--;
}

/* Removes the oldest idle blocks until at most `bytes` are idle. Returns them as a list linked by `next`. */
static struct block *evict(size_t bytes)
{
    struct block *evicted = NULL;
    while (pool.stats.idle_bytes > bytes) {
        struct block *block = pool.oldest;
        remove_idle(block);
        pool.stats.released++;
        block->next = evicted;
        evicted = block;
    }
    return evicted;
}

/* ---- Called without the mutex ----------------------------------------------------------------------------------- */

static size_t destroy_list(struct block *block)
{
    size_t bytes = 0;
    while (block != NULL) {
        struct block *next = block->next;
        bytes += block->bytes;
        block_destroy(block);
        block = next;
    }
    return bytes;
}

/* Returns an unused block to the pool. */
static void give_back(struct owner *owner)
{
    struct block *block = (struct block *)(void *)owner;
    allow_reclaim(block);
    pthread_mutex_lock(&pool.mutex);
    pool.stats.used_bytes -= block->bytes;
    pool.stats.used_blocks--;
    add_idle(block);
    struct block *evicted = evict(pool.stats.limit_bytes);
    pthread_mutex_unlock(&pool.mutex);
    destroy_list(evicted);
}

struct block *pool_get(size_t bytes)
{
    const unsigned size_class = class_of(bytes, &bytes);
    if (size_class >= CLASSES)
        return NULL;
    pthread_mutex_lock(&pool.mutex);
    struct block *block = pool.classes[size_class];
    if (block != NULL) {
        remove_idle(block);
        pool.stats.reused++;
        pool.stats.used_bytes += bytes;
        pool.stats.used_blocks++;
    }
    pthread_mutex_unlock(&pool.mutex);
    if (block == NULL) {
        block = block_create(bytes, size_class);
        if (block == NULL && pool_trim() > 0)
            block = block_create(bytes, size_class);
        if (block == NULL)
            return NULL;
        pthread_mutex_lock(&pool.mutex);
        pool.stats.allocated++;
        pool.stats.used_bytes += bytes;
        pool.stats.used_blocks++;
        pthread_mutex_unlock(&pool.mutex);
    }
    owner_init(&block->owner, give_back);
    return block;
}

struct pool_stats pool_stats(void)
{
    pthread_mutex_lock(&pool.mutex);
    struct pool_stats stats = pool.stats;
    pthread_mutex_unlock(&pool.mutex);
    return stats;
}

void pool_set_limit(size_t bytes)
{
    pthread_mutex_lock(&pool.mutex);
    pool.stats.limit_bytes = bytes;
    struct block *evicted = evict(bytes);
    pthread_mutex_unlock(&pool.mutex);
    destroy_list(evicted);
}

size_t pool_trim(void)
{
    pthread_mutex_lock(&pool.mutex);
    struct block *evicted = evict(0);
    pthread_mutex_unlock(&pool.mutex);
    return destroy_list(evicted);
}

/* ---- Start and fork --------------------------------------------------------------------------------------------- */

/* Returns true if the system provides huge pages on request. */
static bool system_has_huge_pages(void)
{
    char text[64] = "";
    int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 && strstr(text, "[never]") == NULL;
}

/* After fork(), the child has only the forking thread. Its lists must be intact and the mutex unlocked. */
static void lock(void)
{
    pthread_mutex_lock(&pool.mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&pool.mutex);
}

void pool_init(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    const size_t memory = pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : 0;
    const size_t most = (size_t)1 << 30;
    pool.stats.limit_bytes = memory / 8 < most ? memory / 8 : most;
    pool.huge_page = inlay_huge_pages_bytes();
    pool.huge_pages = system_has_huge_pages();
    pthread_atfork(lock, unlock, unlock);
}
