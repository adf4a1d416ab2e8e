// SPDX-License-Identifier: MIT
//
// The clocks. All contenders of a shape are measured in turn, round after round, in one process, so that whatever slows
// the machine for a while slows all of them; every ratio compares medians of the same rounds.
#pragma once

#include "operations/operations.h"
#include "timing/statistics.h"

#include <ctime>

struct inlay_kernels;

struct Isa {
    const char *name;
    const inlay_kernels *kernels;
};

// Returns the ISAs that run here, best first.
const std::vector<Isa> &isas();

struct Contender {
    const Operation *operation;
    Isa isa;                        // in use while it runs; for a limit the best one
    std::size_t threads;            // one of thread_counts()
    bool wanted = false;            // chosen by the filter; what its ratios need is measured in any case
    bool reported = false;          // since it was last measured
    std::optional<Stores> stores{}; // those of its layer, if only limits with the same ones count
    std::vector<double> seconds{};  // per call, one for each round: thread time, or wall time of several threads
    std::vector<double> wall{};     // the same in wall time: what a speed-up compares
    std::vector<double> slowest{};  // the slowest of the first calls, one for each round
};

// Limits that two rounds show to be much slower than others of the same kernel are not measured in later rounds.
//
// The number of rounds: rounds_most, or fewer where they take more than rounds_seconds, but at least rounds_least.
constexpr std::size_t rounds_most = 11;
constexpr std::size_t rounds_least = 5;
constexpr double rounds_seconds = 6;
constexpr std::size_t rounds_strategic = 30; // of the series `strategic`, however long they take

// Measures the wanted contenders of a shape, their limits, and the runs on one thread that a speed-up is relative to.
void measure(const Shape &shape, std::vector<Contender> &contenders);

// Returns the time that ratios are made of: the median; with several threads the fastest round, since the wall clock
// counts everything else that the machine does.
double typical(const Contender &contender);

// Returns how far the ratio of two contenders scatters from round to round: half of its interquartile range, over its
// median.
double scatter(const Contender &contender, const Contender &limit);
// Returns the seconds of a clock.
double now(clockid_t clock);
