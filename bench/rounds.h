// SPDX-License-Identifier: MIT
//
// The clock. All contenders of a shape are measured in turn, round after round, in one process on one core, so that
// whatever slows the machine for a while slows them all; every ratio is one of medians of the same rounds.
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
    bool wanted = false;           // chosen by the filter; limits are measured in any case
    bool reported = false;         // since it was measured
    std::vector<double> seconds{}; // for one call, one per round
};

// So many rounds; where they take longer than the seconds, as many as these hold and at least so few.
constexpr std::size_t rounds_most = 11;
constexpr std::size_t rounds_least = 5;
constexpr double rounds_seconds = 10;

// To the core it runs on. False where the system forbids it.
bool pin_to_core();

// Measures the wanted kernels and all limits of a shape.
void measure(const Shape &shape, std::vector<Contender> &contenders);

double median(std::vector<double> seconds);
double minimum(const std::vector<double> &seconds);

#endif
