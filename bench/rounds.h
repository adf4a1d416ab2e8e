// SPDX-License-Identifier: MIT
//
// The clocks. All contenders of a shape are measured in turn, round after round, in one process, so that whatever slows
// the machine for a while slows them all; every ratio is one of medians of the same rounds.
// Nothing here knows what an operation does, or prints.
#ifndef INLAY_BENCH_ROUNDS_H
#define INLAY_BENCH_ROUNDS_H

#include "operations.h"

struct inlay_kernels;

struct Isa {
    const char *name;
    const inlay_kernels *kernels;
};

// Those that run here, best first.
const std::vector<Isa> &isas();

struct Contender {
    const Operation *operation;
    Isa isa;                       // in use meanwhile; for a limit the best one
    std::size_t threads;           // one of thread_counts()
    bool wanted = false;           // chosen by the filter; what its ratios need is measured in any case
    bool reported = false;         // since it was measured
    std::vector<double> seconds{}; // for one call, one per round; several threads: on the wall
    std::vector<double> wall{};    // the same on the wall in any case: what a speed-up compares
};

// So many rounds; where they take longer than the seconds, as many as these hold and at least so few.
constexpr std::size_t rounds_most = 11;
constexpr std::size_t rounds_least = 5;
constexpr double rounds_seconds = 10;

// Measures the wanted contenders of a shape, their limits, and what their speed-up is relative to.
void measure(const Shape &shape, std::vector<Contender> &contenders);

double median(std::vector<double> seconds);

// What ratios are made of: the median; with several threads, whose clock counts whatever else the machine does, the
// fastest round.
double typical(const Contender &contender);

// How far the ratios of two contenders scatter from round to round: half of the distance between their quartiles, over
// their median.
double scatter(const Contender &contender, const Contender &limit);
double minimum(const std::vector<double> &seconds);

#endif
