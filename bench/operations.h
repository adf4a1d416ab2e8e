// SPDX-License-Identifier: MIT
//
// What is measured: the operations of the library, and the limits that they are held against.
// To measure another operation, write its function in operations.cc and add a line to the table there.
// An operation knows nothing of ISAs or clocks: rounds.cc chooses the one and reads the other.
#ifndef INLAY_BENCH_OPERATIONS_H
#define INLAY_BENCH_OPERATIONS_H

#include "scene.h"

#include <vector>

enum class Role { kernel, limit }; // a kernel has a row for every ISA, a limit has one
enum Trait : unsigned {
    fused = 1,    // held against three passes too
    computes = 2, // computes sinusoids
    parallel = 4, // measured on several threads too, where the shape asks for it
};

struct Operation {
    Role role;
    const char *name;
    unsigned series; // of the shapes it is measured on
    unsigned traits;
    unsigned passes;       // how often each float of the output counts as moved
    const char *limits[3]; // the fastest of these is the limit of a kernel; null: none
    // Null where this machine cannot. One thread where executor is null.
    void (*run)(const Scene &scene, const inlay_executor *executor, std::size_t calls);
};

// In the order of the table of results.
const std::vector<Operation> &operations();

// Scalar rounds the real number correctly, in integers, at about 0.4 us for each pair of sine and cosine: it computes
// only tables of at most so many.
constexpr std::size_t scalar_pairs = 4096;

// Whether to measure an operation on a shape, with so many threads, where the ISA is in use.
bool measured(const Operation &operation, const Shape &shape, std::size_t threads, const std::string &isa);

// The bytes that a call counts as moved.
std::int64_t bytes_moved(const Operation &operation, const Shape &shape);

#endif
