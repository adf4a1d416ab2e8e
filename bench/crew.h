// SPDX-License-Identifier: MIT
//
// The threads: the one that measures, on a core of its own, and those that help it where a row asks for more than one.
// rounds.cc gives their executors to operations; nobody else knows that they exist.
#ifndef INLAY_BENCH_CREW_H
#define INLAY_BENCH_CREW_H

#include <cstddef>
#include <vector>

#include <inlay/inlay.h>

// Pins this thread to the core it runs on and starts the others on the remaining ones, where they sleep.
// False where the system forbids pinning; they then run anywhere.
bool settle_threads();

// 1; and 2 and as many as there are cores for this process, where there are so many.
const std::vector<std::size_t> &thread_counts();

// Null for 1; else one of thread_counts().
const inlay_executor *executor_for(std::size_t threads);

#endif
