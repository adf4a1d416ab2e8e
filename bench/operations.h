// SPDX-License-Identifier: MIT
//
// What is measured: the operations of the library, and the limits that they are compared with. To measure another
// operation, write its function in operations.cc and add a line to the table there. An operation knows neither ISAs nor
// clocks; rounds.cc chooses the ISA and reads the clock.
#ifndef INLAY_BENCH_OPERATIONS_H
#define INLAY_BENCH_OPERATIONS_H

#include "fixture.h"

#include <array>
#include <vector>

enum class Role { kernel, limit }; // a kernel has a row for every ISA, a limit has one
enum Trait : unsigned {
    fused = 1,    // compared with three passes too
    computes = 2, // computes sinusoids
    parallel = 4, // measured on several threads too, if the shape says so
};

// Names of limits; null: none.
using Limits = std::array<const char *, 3>;

struct Operation {
    Role role;
    const char *name;
    unsigned series; // the shapes that it is measured on
    unsigned traits;
    unsigned passes; // how many times each float of the output counts as moved
    Limits limits;   // the fastest of these is the limit of a kernel
    // Makes `calls` calls, on one thread if executor is null. Null where this machine cannot run the operation.
    void (*run)(const Fixture &fixture, const inlay_executor *executor, std::size_t calls);
};

// Returns all operations in the order of the table of results.
const std::vector<Operation> &operations();

// The scalar kernels round the real number correctly in integer arithmetic, at about 0.4 us for each pair of sine and
// cosine: they are measured only on tables of at most this many pairs.
constexpr std::size_t scalar_pairs = 4096;

// Returns whether to measure an operation on a shape with that number of threads and that ISA.
bool measured(const Operation &operation, const Shape &shape, std::size_t threads, const std::string &isa);

// Returns the bytes that a call counts as moved.
std::int64_t bytes_moved(const Operation &operation, const Shape &shape);

#endif
