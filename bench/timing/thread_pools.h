// SPDX-License-Identifier: MIT
//
// Threads: the measuring one, pinned to a core, and pthreadpools for rows on several threads. The pools live as long as
// the process. Without pthreadpool, everything runs on one thread.
#pragma once

#include <cstddef>
#include <vector>

#include <inlay/inlay.h>

// Pins the calling thread to its current core and creates the pools; their threads run on the other cores.
// Returns false if the system forbids pinning; the threads then run on any core.
bool start_thread_pools();

// Returns the numbers of threads to measure: 1; then 2 and the number of cores, if the process may use as many.
const std::vector<std::size_t> &thread_counts();

// Returns the executor of the pool with that number of threads, one of thread_counts(); null for 1.
const inlay_executor *executor_for(std::size_t threads);

// Puts the workers of that pool to sleep. Otherwise they spin for some 25 ms after a job, and slow whatever is measured
// next on a core that shares execution units or power with theirs.
void put_to_sleep(std::size_t threads);
