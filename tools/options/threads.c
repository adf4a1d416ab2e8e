/* SPDX-License-Identifier: MIT */
/*
 * Runs an executor's threads with pthreadpool, through the adapter in examples/. Builds with pthreadpool define
 * INLAY_TOOL_PTHREADPOOL.
 */
#include "options/threads.h"

#include <inttypes.h>
#include <stddef.h>

#include "text/message.h"

#ifdef INLAY_TOOL_PTHREADPOOL

#include <pthread.h>
#include <stdbool.h>

#include "inlay_pthreadpool.h"

const char threads_library[] = "pthreadpool";

static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Returns true if n threads can run at the same time. pthreadpool doesn't check that its threads have started. It would
   wait forever for a thread that has not. */
static bool can_start(size_t n)
{
    static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    static pthread_t started[MAX_THREADS];
    size_t count = 0;
    pthread_mutex_lock(&gate);
    while (count < n && pthread_create(&started[count], NULL, pass, &gate) == 0)
        count++;
    pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < count; i++)
        pthread_join(started[i], NULL);
    return count == n;
}

int threads_start(int64_t n, const inlay_executor **executor)
{
    static inlay_executor pooled;
    if (n == 1)
        return DONE;
    pthreadpool_t pool = can_start((size_t)n - 1) ? pthreadpool_create((size_t)n) : NULL;
    if (pool == NULL)
        return failed("--threads %" PRId64 ": the system cannot start that many", n);
    pooled = inlay_executor_pthreadpool(pool);
    *executor = &pooled;
    return DONE;
}

#else

const char threads_library[] = "none";

int threads_start(int64_t n, const inlay_executor **executor)
{
    (void)executor;
    return n == 1 ? DONE : failed("--threads %" PRId64 ": inlay was built without pthreadpool: drop it", n);
}

#endif
