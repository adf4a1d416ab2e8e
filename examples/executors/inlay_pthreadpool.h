/* SPDX-License-Identifier: MIT */
/* pthreadpool (XNNPACK, PyTorch, TensorFlow Lite) as an inlay_executor. Copy this file. */
#ifndef INLAY_EXAMPLE_PTHREADPOOL_H
#define INLAY_EXAMPLE_PTHREADPOOL_H

#include <inlay/inlay.h>
#include <pthreadpool.h>

static inline void inlay_pthreadpool_run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    pthreadpool_parallelize_1d((pthreadpool_t)ctx, task, arg, count, 0);
}

/* Returns an executor that is valid as long as the pool. inlay never nests jobs, which pthreadpool does not allow. */
static inline inlay_executor inlay_executor_pthreadpool(pthreadpool_t pool)
{
    inlay_executor executor;
    executor.ctx = pool;
    executor.run = inlay_pthreadpool_run;
    executor.threads = pthreadpool_get_threads_count(pool);
    return executor;
}

#endif
