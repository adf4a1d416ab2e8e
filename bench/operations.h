// SPDX-License-Identifier: MIT
//
// What is measured: the operations of the library, and the limits that they are compared with. To measure another
// operation, write its function in operations.cc and add a line to the table there; limits are in plain_limits.cc, and
// what reads quantised tables in quantised_operations.cc. An operation knows neither ISAs nor clocks; rounds.cc chooses
// the ISA and reads the clock.
#ifndef INLAY_BENCH_OPERATIONS_H
#define INLAY_BENCH_OPERATIONS_H

#include "fixture.h"

#include <benchmark/benchmark.h>
#include <functional>
#include <string>
#include <vector>

enum class Role { kernel, limit }; // a kernel has a row for every ISA, a limit has one
enum Trait : unsigned {
    fused = 1,    // compared with three passes too
    computes = 2, // computes sinusoids
    parallel = 4, // measured on several threads too, if the shape says so
    copies = 8,   // measured only where the output has the type of the table
};

struct Operation {
    using Run = std::function<void(const Fixture &fixture, const inlay_executor *executor, std::size_t calls)>;

    Role role;
    std::string name;
    unsigned series; // the shapes that it is measured on
    unsigned traits;
    unsigned passes; // how many times as many bytes as rows of float32 of the shape's dim count as moved, or
                     // those that a `hashed` shape reads and writes
    // The limits of a kernel, by name: bare loops that move the same bytes of rows and output, the fastest of which is
    // the limit; and those that also read the other streams, which are positions and scales. Empty if the same.
    std::vector<std::string> limits, streams;
    // Makes `calls` calls, on one thread if executor is null. Empty where this machine cannot run the operation.
    Run run;
};

// Makes `calls` calls, none of which the compiler may optimise away.
template <class Call> void repeat(std::size_t calls, Call call)
{
    for (; calls; calls--) {
        call();
        benchmark::ClobberMemory();
    }
}

// How the bare loops of a limit move rows, and how the names of such limits end: "_nt_t1_blocks".
struct NamedMode {
    const char *suffix;
    Mode mode;
};

using Modes = std::vector<NamedMode>;

// Returns all modes, or those that prefetch.
const Modes &all_modes();
const Modes &prefetching_modes();

// Returns the names of the limits `name` in these modes.
std::vector<std::string> in_modes(const std::string &name, const Modes &modes);

// The rows of a call that a bare loop moves.
using BareCall = BareRows (*)(const Fixture &fixture);

// Appends a limit for each mode: bare loops over the rows that `call` returns.
void add_limits(std::vector<Operation> &all, const std::string &name, unsigned series, unsigned traits, unsigned passes,
                const Modes &modes, BareCall call);

// Appends the limits of operations on float32 tables and on tables of sinusoids.
void add_plain_limits(std::vector<Operation> &all);

// Appends the layer over tables of the quantised types, and the limits of each.
void add_compact_operations(std::vector<Operation> &all);

// Appends the gathers of the series `small`, and the limits of each.
void add_small_operations(std::vector<Operation> &all);

// Appends lookups of hashed n-grams, the hash alone, and the limits of the lookup.
void add_ngram_operations(std::vector<Operation> &all);

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
