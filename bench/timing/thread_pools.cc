// SPDX-License-Identifier: MIT
//
// One pool per number of threads, used through the adapter in examples/executors.
#include "timing/thread_pools.h"

#include <cstdio>
#include <cstdlib>
#include <sched.h>

static std::vector<std::size_t> counts = {1};

const std::vector<std::size_t> &thread_counts()
{
    return counts;
}

#ifdef INLAY_BENCH_PTHREADPOOL

#include "../examples/executors/inlay_pthreadpool.h"

struct Pool {
    std::size_t threads;
    pthreadpool_t pool;
    inlay_executor executor;
};

static std::vector<Pool> pools;

static void start_pool(std::size_t threads)
{
    const pthreadpool_t pool = pthreadpool_create(threads);
    if (!pool || pthreadpool_get_threads_count(pool) != threads) {
        std::fprintf(stderr, "inlay_bench: cannot start %zu threads\n", threads);
        std::exit(1);
    }
    counts.push_back(threads);
    pools.push_back({threads, pool, inlay_executor_pthreadpool(pool)});
}

static const Pool *find_pool(std::size_t threads)
{
    for (const Pool &pool : pools)
        if (pool.threads == threads)
            return &pool;
    return nullptr;
}

const inlay_executor *executor_for(std::size_t threads)
{
    const Pool *pool = find_pool(threads);
    return pool ? &pool->executor : nullptr;
}

void put_to_sleep(std::size_t threads)
{
    const auto nothing = [](void *, std::size_t) {};
    if (const Pool *pool = find_pool(threads))
        pthreadpool_parallelize_1d(pool->pool, nothing, nullptr, threads, PTHREADPOOL_FLAG_YIELD_WORKERS);
}

#else

static void start_pool(std::size_t)
{
}

const inlay_executor *executor_for(std::size_t)
{
    return nullptr;
}

void put_to_sleep(std::size_t)
{
}

#endif

bool start_thread_pools()
{
    cpu_set_t all, own;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    const int core = sched_getcpu();
    const std::size_t cores = static_cast<std::size_t>(CPU_COUNT(&all));
    if (cores > 1) {
        // A thread inherits its creator's CPU affinity.
        cpu_set_t others = all;
        CPU_CLR(core, &others);
        sched_setaffinity(0, sizeof others, &others);
        start_pool(2);
        if (cores > 2)
            start_pool(cores);
    }
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    return sched_setaffinity(0, sizeof own, &own) == 0;
}
