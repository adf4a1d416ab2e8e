/* SPDX-License-Identifier: MIT */
/*
 * The threads of threads.h, from pool.h.
 */
#include "threads.h"

#include <inttypes.h>
#include <stddef.h>

#include "message.h"

int threads_start(struct threads *threads, int64_t n)
{
    if (n == 1)
        return DONE;
    threads->pool = pool_create((size_t)n);
    if (threads->pool == NULL)
        return failed("--threads %" PRId64 ": the system does not start so many", n);
    threads->pooled = pool_executor(threads->pool);
    threads->executor = &threads->pooled;
    return DONE;
}

void threads_stop(struct threads *threads)
{
    pool_destroy(threads->pool);
}
