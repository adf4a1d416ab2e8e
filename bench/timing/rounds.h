// SPDX-License-Identifier: MIT
//
// Timing. All contenders of a shape are measured in turn, round after round, in one process, so whatever slows the
// machine for a while slows all of them. Ratios compare medians over the same rounds.
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
    Isa isa;                        // in use while it runs; for most limits, the best one
    std::size_t threads;            // one of thread_counts()
    bool wanted = false;            // selected by the filter; contenders that its ratios need are measured in any case
    bool reported = false;          // since it was last measured
    std::optional<Stores> stores{}; // of its layer, if only limits with the same stores count
    std::vector<double> seconds{};  // per call, one per round: thread time, or wall time with several threads
    std::vector<double> wall{};     // the same in wall time, for speed-ups
    std::vector<double> slowest{};  // the slowest of the first calls, one per round
};

// True if a limit that a kernel names is for the kernel's ISA.
bool limits(const Contender &limit, const Contender &kernel);

// Limits that are much slower than others of the same kernel after two rounds are not measured in later ones.
//
// There are max_rounds rounds, or fewer if they take more than rounds_seconds, but at least min_rounds.
constexpr std::size_t max_rounds = 11;
constexpr std::size_t min_rounds = 5;
constexpr double rounds_seconds = 6;
constexpr std::size_t rounds_strategic = 30; // for the series `strategic`, however long they take

// Measures the wanted contenders of a shape, their limits, and the single-threaded runs that speed-ups compare with.
void measure(const Shape &shape, std::vector<Contender> &contenders);

// Returns the time used in ratios: the median. With several threads it is the fastest round, since wall time includes
// everything else that the machine does.
double typical(const Contender &contender);

// Returns the spread of the ratio of two contenders over the rounds: half its interquartile range, over its median.
double scatter(const Contender &contender, const Contender &limit);
// Returns the time of a clock in seconds.
double now(clockid_t clock);
