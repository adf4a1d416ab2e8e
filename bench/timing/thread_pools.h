// SPDX-License-Identifier: MIT
//
// The threads: the measuring one, which is pinned to a core, and pools of pthreadpool for the rows on several threads.
// The pools live as long as the process. Without pthreadpool everything is measured on one thread.
#pragma once

#include <cstddef>
#include <vector>

#include <inlay/inlay.h>

// Pins the calling thread to the core that it runs on and creates the pools, whose other threads run on the other
// cores. Returns false where the system forbids pinning; the threads then run on any core.
bool start_thread_pools();

// Returns the numbers of threads to measure: 1; then 2 and the number of cores, where the process has as many.
const std::vector<std::size_t> &thread_counts();

// Returns the executor of the pool with that number of threads, one of thread_counts(); null for 1.
const inlay_executor *executor_for(std::size_t threads);

// Lets the workers of that pool sleep. Otherwise they spin for some 25 ms after a job, in case another follows, and
// slow whatever is measured next on a core that shares its execution units or its power with theirs.
void put_to_sleep(std::size_t threads);
