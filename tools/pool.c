/* SPDX-License-Identifier: MIT */
/*
 * The pool of pool.h. The indices of a job are cut into one share per thread: each takes its own first, so that in
 * repeated jobs it finds in its cache what it left there, then what is left of the others'. To wake a sleeping thread
 * takes longer than many jobs do, so whoever waits spins for some microseconds before it sleeps.
 *
 * A worker that comes late must not hold up a job that is done, nor touch one that is gone: it enters through a gate,
 * which the caller shuts when no index is left; only who is inside then is waited for.
 */
#define _POSIX_C_SOURCE 200809L
#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    SPINS = 2000,  /* 20 to 100 us: some times what waking a thread takes */
    GATE_SHUT = 1, /* the lowest bit of the gate; the others count those inside */
    GATE_ONE = 2
};

struct share {
    _Alignas(128) atomic_size_t next; /* two cache lines: processors fetch them in pairs */
    size_t end;
};

struct worker {
    struct pool *pool;
    size_t number; /* from 1; the caller is 0 */
    pthread_t thread;
};

struct pool {
    size_t threads;         /* the caller's included */
    struct share *shares;   /* [threads] */
    struct worker *workers; /* [threads]; the first is no one */
    size_t started;

    pthread_mutex_t callers; /* one job at a time */
    void (*task)(void *arg, size_t index);
    void *arg;
    atomic_size_t gate;

    atomic_uint jobs; /* changes with every job, and at the end */
    atomic_bool stop;
    pthread_mutex_t sleep;
    pthread_cond_t wake;      /* a job has come */
    pthread_cond_t left;      /* the last worker has left */
    atomic_size_t sleepers;   /* workers that may be asleep */
    atomic_bool caller_waits; /* the caller may be asleep */
};

static void rest_a_moment(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb" ::: "memory"); /* yield does nothing on most cores */
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void set_shares(struct pool *pool, size_t count)
{
    size_t each = count / pool->threads, more = count % pool->threads, first = 0;
    for (size_t i = 0; i < pool->threads; i++) {
        atomic_store(&pool->shares[i].next, first);
        first += each + (i < more);
        pool->shares[i].end = first;
    }
}

static void take_indices(struct pool *pool, size_t number)
{
    for (size_t i = 0; i < pool->threads; i++) {
        struct share *share = &pool->shares[(number + i) % pool->threads];
        size_t index;
        while ((index = atomic_fetch_add(&share->next, 1)) < share->end)
            pool->task(pool->arg, index);
    }
}

/* ---- Workers ---------------------------------------------------------------------------------------------------- */

static void leave(struct pool *pool)
{
    size_t before = atomic_fetch_sub(&pool->gate, GATE_ONE);
    if (before == (GATE_ONE | GATE_SHUT) && atomic_load(&pool->caller_waits)) {
        pthread_mutex_lock(&pool->sleep);
        pthread_cond_signal(&pool->left);
        pthread_mutex_unlock(&pool->sleep);
    }
}

/* Returns the number of the next job. All atomics are in one order: either the caller, who changes `jobs` first and
   then looks for sleepers, sees this one, or this one, who counts itself first, sees the change. */
static unsigned wait_for_job(struct pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned jobs = atomic_load(&pool->jobs);
        if (jobs != seen)
            return jobs;
        rest_a_moment();
    }
    pthread_mutex_lock(&pool->sleep);
    atomic_fetch_add(&pool->sleepers, 1);
    unsigned jobs;
    while ((jobs = atomic_load(&pool->jobs)) == seen)
        pthread_cond_wait(&pool->wake, &pool->sleep);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->sleep);
    return jobs;
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct pool *pool = worker->pool;
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_job(pool, seen);
        if (atomic_load(&pool->stop))
            return NULL;
        if (!(atomic_fetch_add(&pool->gate, GATE_ONE) & GATE_SHUT))
            take_indices(pool, worker->number);
        leave(pool);
    }
}

static void wake_workers(struct pool *pool)
{
    atomic_fetch_add(&pool->jobs, 1);
    if (atomic_load(&pool->sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->sleep);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->sleep);
}

/* ---- The caller ------------------------------------------------------------------------------------------------- */

static void wait_until_empty(struct pool *pool)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->gate) == GATE_SHUT)
            return;
        rest_a_moment();
    }
    pthread_mutex_lock(&pool->sleep);
    atomic_store(&pool->caller_waits, true);
    while (atomic_load(&pool->gate) != GATE_SHUT)
        pthread_cond_wait(&pool->left, &pool->sleep);
    atomic_store(&pool->caller_waits, false);
    pthread_mutex_unlock(&pool->sleep);
}

static void run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    struct pool *pool = ctx;
    pthread_mutex_lock(&pool->callers);
    pool->task = task;
    pool->arg = arg;
    set_shares(pool, count);
    atomic_fetch_and(&pool->gate, ~(size_t)GATE_SHUT);
    if (count > 1)
        wake_workers(pool);
    take_indices(pool, 0);
    atomic_fetch_or(&pool->gate, GATE_SHUT);
    wait_until_empty(pool);
    pthread_mutex_unlock(&pool->callers);
}

inlay_executor pool_executor(struct pool *pool)
{
    return (inlay_executor){.ctx = pool, .run = run, .threads = pool->threads};
}

/* ---- Life ------------------------------------------------------------------------------------------------------- */

static bool start_workers(struct pool *pool)
{
    for (size_t i = 1; i < pool->threads; i++) {
        struct worker *worker = &pool->workers[i];
        *worker = (struct worker){.pool = pool, .number = i};
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            return false;
        pool->started = i;
    }
    return true;
}

struct pool *pool_create(size_t threads)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->threads = threads;
    atomic_init(&pool->gate, GATE_SHUT);
    pthread_mutex_init(&pool->callers, NULL);
    pthread_mutex_init(&pool->sleep, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->left, NULL);
    pool->shares = aligned_alloc(_Alignof(struct share), threads * sizeof *pool->shares);
    pool->workers = calloc(threads, sizeof *pool->workers);
    if (pool->shares != NULL && pool->workers != NULL && start_workers(pool))
        return pool;
    pool_destroy(pool);
    return NULL;
}

void pool_destroy(struct pool *pool)
{
    if (pool == NULL)
        return;
    atomic_store(&pool->stop, true);
    wake_workers(pool);
    for (size_t i = 1; i <= pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->sleep);
    pthread_mutex_destroy(&pool->callers);
    free(pool->workers);
    free(pool->shares);
    free(pool);
}
