/* SPDX-License-Identifier: MIT */
/*
 * The threads of threads.h. INLAY_TOOL_PTHREADPOOL comes from the build; the adapter is the one that examples/ offers
 * to users.
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

/* Returns whether n threads can live at the same time. pthreadpool does not look whether its threads were started, and
   would wait forever for one that was not. */
static bool can_start(size_t n)
{
    static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    static pthread_t started[THREADS_MOST];
    size_t count = 0;
    pthread_mutex_lock(&gate);
    while (count < n && pthread_create(&started[count], NULL, pass, &gate) == 0)
        count++;
    pthread_mutex_unlock(&gate);
    for (size_t i = 0; i < count; i++)
        pthread_join(started[i], NULL);
    return count == n;
}

int threads_start(struct threads *threads, int64_t n)
{
    if (n == 1)
        return DONE;
    threads->pool = can_start((size_t)n - 1) ? pthreadpool_create((size_t)n) : NULL;
    if (threads->pool == NULL)
        return failed("--threads %" PRId64 ": the system does not start as many", n);
    threads->pooled = inlay_executor_pthreadpool(threads->pool);
    threads->executor = &threads->pooled;
    return DONE;
}

void threads_stop(struct threads *threads)
{
    pthreadpool_destroy(threads->pool);
}

#else

const char threads_library[] = "none";

int threads_start(struct threads *threads, int64_t n)
{
    (void)threads;
    return n == 1 ? DONE : failed("--threads %" PRId64 ": this inlay was built without pthreadpool: drop it", n);
}

void threads_stop(struct threads *threads)
{
    (void)threads;
}

#endif
