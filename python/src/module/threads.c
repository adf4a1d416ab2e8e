/* SPDX-License-Identifier: MIT */
/*
 * Runs one job at a time. The caller publishes the job, works on it, and waits only for workers that joined; a worker
 * that wakes up late finds the job closed. Python starts the threads, since pthread_create() would require glibc 2.34.
 */
#include "module/threads.h"

#include <pthread.h>
#include <stdatomic.h>

static struct {
    atomic_size_t threads;
    atomic_flag busy; /* a job is running. Only the caller that set it may write the job */
    pthread_mutex_t mutex;
    pthread_cond_t opened, finished;
    size_t workers; /* started; guarded by the mutex */

    /* The job. The mutex guards all fields except `next`. */
    size_t vacancies; /* workers that may still join; 0: the job is closed */
    size_t joined;    /* workers on the job */
    size_t count;
    void (*task)(void *arg, size_t index);
    void *arg;
    atomic_size_t next;
} pool = {
    .threads = 1,
    .busy = ATOMIC_FLAG_INIT,
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .opened = PTHREAD_COND_INITIALIZER,
    .finished = PTHREAD_COND_INITIALIZER,
};

static void take_part(size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    size_t index;
    while ((index = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed)) < count)
        task(arg, index);
}

static void work(void *Py_UNUSED(arg))
{
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (pool.vacancies == 0)
            pthread_cond_wait(&pool.opened, &pool.mutex);
        pool.vacancies--;
        pool.joined++;
        pthread_mutex_unlock(&pool.mutex);
        take_part(pool.count, pool.task, pool.arg);
        pthread_mutex_lock(&pool.mutex);
        if (--pool.joined == 0)
            pthread_cond_signal(&pool.finished);
    }
}

static void run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    const inlay_executor *executor = ctx;
    if (count == 0)
        return;
    if (atomic_flag_test_and_set(&pool.busy)) {
        for (size_t i = 0; i < count; i++)
            task(arg, i);
        return;
    }
    pthread_mutex_lock(&pool.mutex);
    pool.count = count;
    pool.task = task;
    pool.arg = arg;
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    pool.vacancies = (executor->threads < count ? executor->threads : count) - 1;
    pthread_cond_broadcast(&pool.opened);
    pthread_mutex_unlock(&pool.mutex);
    take_part(count, task, arg);
    pthread_mutex_lock(&pool.mutex);
    pool.vacancies = 0;
    while (pool.joined > 0)
        pthread_cond_wait(&pool.finished, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
    atomic_flag_clear(&pool.busy);
}

size_t threads_get(void)
{
    return atomic_load_explicit(&pool.threads, memory_order_relaxed);
}

void threads_set(size_t n)
{
    atomic_store_explicit(&pool.threads, n, memory_order_relaxed);
}

/* Starts workers until there are `n`. Returns their number. */
static size_t start_workers(size_t n)
{
    const unsigned long failed = (unsigned long)-1; /* PYTHREAD_INVALID_THREAD_ID isn't in the limited API */
    pthread_mutex_lock(&pool.mutex);
    while (pool.workers < n && PyThread_start_new_thread(work, NULL) != failed)
        pool.workers++;
    const size_t workers = pool.workers;
    pthread_mutex_unlock(&pool.mutex);
    return workers;
}

const inlay_executor *threads_executor(size_t n, inlay_executor *executor)
{
    if (n <= 1)
        return NULL;
    const size_t workers = start_workers(n - 1);
    if (workers == 0)
        return NULL;
    *executor = (inlay_executor){executor, run, workers < n - 1 ? workers + 1 : n};
    return executor;
}

/* After fork(), the child has no workers, and another thread's job never ends there. */
static void start_over(void)
{
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.opened, NULL);
    pthread_cond_init(&pool.finished, NULL);
    pool.workers = 0;
    pool.vacancies = 0;
    pool.joined = 0;
    atomic_flag_clear(&pool.busy);
}

void threads_init(void)
{
    pthread_atfork(NULL, NULL, start_over);
}
