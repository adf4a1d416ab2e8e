// SPDX-License-Identifier: MIT
//
// Pools of the tool (tools/pool.h), one for each number of threads. They live as long as the process.
#include "crew.h"

#include "../tools/pool.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sched.h>

static std::vector<std::size_t> counts = {1};
static std::vector<inlay_executor> executors; // of counts[1], counts[2]

static void start_pool(std::size_t threads)
{
    pool *made = pool_create(threads);
    if (!made) {
        std::fprintf(stderr, "inlay_bench: no %zu threads\n", threads);
        std::exit(1);
    }
    counts.push_back(threads);
    executors.push_back(pool_executor(made));
}

bool settle_threads()
{
    cpu_set_t all, own;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    const int core = sched_getcpu();
    const std::size_t cores = static_cast<std::size_t>(CPU_COUNT(&all));
    if (cores > 1) {
        // Threads inherit the cores of the one that starts them.
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

const std::vector<std::size_t> &thread_counts()
{
    return counts;
}

const inlay_executor *executor_for(std::size_t threads)
{
    const auto found = std::find(counts.begin() + 1, counts.end(), threads);
    return found == counts.end() ? nullptr : &executors[static_cast<std::size_t>(found - counts.begin() - 1)];
}
