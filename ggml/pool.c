/* SPDX-License-Identifier: MIT */
/* The pool of pool.h on pthreadpool, with workers that sleep right after each job. Without pthreadpool, everything runs
   on the calling thread. */
#include "pool.h"

/* Minimum output bytes per woken thread. */
#define MIN_PART ((size_t)128 << 10)

#ifdef INLAY_GGML_PTHREADPOOL

#include <pthreadpool.h>

static void run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    pthreadpool_parallelize_1d(ctx, task, arg, count, PTHREADPOOL_FLAG_YIELD_WORKERS);
}

const inlay_executor *inlay_ggml_pool_executor(struct inlay_ggml_pool *pool, size_t wanted, size_t bytes,
                                               inlay_executor *executor)
{
    const size_t parts = bytes / MIN_PART, threads = wanted < parts ? wanted : parts;
    if (threads < 2)
        return NULL;
    /* Programs alternate between two thread counts, for prompts and for decoding: keep the larger pool. */
    if (pool->count < wanted) {
        pthreadpool_t larger = pthreadpool_create(wanted);
        if (larger == NULL)
            return NULL;
        inlay_ggml_pool_end(pool);
        pool->threads = larger;
        pool->count = wanted;
    }
    *executor = (inlay_executor){.ctx = pool->threads, .run = run, .threads = threads};
    return executor;
}

void inlay_ggml_pool_end(struct inlay_ggml_pool *pool)
{
    if (pool->threads != NULL)
        pthreadpool_destroy(pool->threads);
    *pool = (struct inlay_ggml_pool){.threads = NULL};
}

#else

const inlay_executor *inlay_ggml_pool_executor(struct inlay_ggml_pool *pool, size_t wanted, size_t bytes,
                                               inlay_executor *executor)
{
    (void)pool, (void)wanted, (void)bytes, (void)executor;
    return NULL;
}

void inlay_ggml_pool_end(struct inlay_ggml_pool *pool)
{
    (void)pool;
}

#endif
