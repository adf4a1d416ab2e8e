// SPDX-License-Identifier: MIT
//
// What is measured: the operations of the library, and the limits that they are compared with. To measure another
// operation, write its function in operations.cc and add a line to the table there; its limits are in limits.cc, and
// what reads quantised tables in quantised.cc. An operation knows neither ISAs nor clocks; rounds.cc chooses
// the ISA and reads the clock.
#pragma once

#include "shapes/fixture.h"

#include <benchmark/benchmark.h>
#include <functional>
#include <optional>
#include <string>
#include <vector>

enum class Role { kernel, limit }; // a kernel has a row for every ISA, a limit has one
enum Trait : unsigned {
    large = 1,         // measured only on outputs of at least large_bytes
    lone = 2,          // measured only where the batch is 1
    copies = 4,        // measured only where the output has the type of the table
    parallel = 8,      // measured on several threads too, if the shape says so
    computes = 16,     // computes sinusoids
    same_stores = 32,  // only limits that store as it does count
    waits = 64,        // for a disk, so that the clock is the wall's
    renews = 128,      // Fixture::layer is a new one in each sample
    first_calls = 256, // a sample is the first ten calls, one by one
};

// Where the output of a call lies, and what becomes of it.
enum class Delivery {
    reused,   // in the same memory for all calls
    read,     // there too, and after each call its consumer reads all of it once
    fresh_4k, // in memory that the system provides for each call, in pages of 4 KiB
    fresh_2m, // likewise, in pages of 2 MiB
};

// A delivery, what the names of its operations append, and their traits and passes.
struct Delivered {
    Delivery how;
    const char *suffix;
    unsigned traits, passes;
};

// In the order of the table of results: users wait until the output has been read.
constexpr Delivered deliveries[] = {
    {Delivery::read, "_read", large | parallel, 3},
    {Delivery::reused, "", parallel, 2},
    {Delivery::fresh_4k, "_fresh_4k", large, 2},
    {Delivery::fresh_2m, "_fresh_2m", large, 2},
};

constexpr std::size_t large_bytes = std::size_t{1} << 20;

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
    // Of what calls Fixture::layer: what that layer differs in; else empty.
    Change change{};
    // Of a bare loop over rows: how it stores them.
    std::optional<Stores> stores{};
    // Null, or what is done before each sample, while no clock runs.
    void (*prepare)(const Fixture &fixture) = nullptr;
};

// Returns how many calls a layer makes on that fixture before it has timed all that it may choose.
std::size_t calls_to_settle(const Fixture &fixture);

// Calls part(first, n) for all of [0, rows) on this thread, or for equal shares on the threads of the executor.
template <class Part> void share(const inlay_executor *executor, std::size_t rows, Part part)
{
    if (!executor)
        return part(0, rows);
    struct Job {
        Part &part;
        std::size_t rows, shares;
    } job = {part, rows, executor->threads};
    const auto task = [](void *argument, std::size_t i) {
        const Job &all = *static_cast<Job *>(argument);
        const std::size_t first = all.rows * i / all.shares;
        all.part(first, all.rows * (i + 1) / all.shares - first);
    };
    executor->run(executor->ctx, job.shares, task, &job);
}

// Reads the output once, as a consumer does.
void read_output(const Fixture &fixture, const inlay_executor *executor);

// Returns a Run of call(fixture, out, executor), none of which the compiler may optimise away.
template <class Call> Operation::Run deliver(Delivery how, Call call)
{
    return [how, call](const Fixture &fixture, const inlay_executor *executor, std::size_t calls) {
        for (; calls; calls--) {
            if (how == Delivery::fresh_4k || how == Delivery::fresh_2m) {
                const std::size_t offset = fixture.shape.offset;
                const FreshPages out(offset + fixture.rows * fixture.row_bytes,
                                     how == Delivery::fresh_4k ? small_pages : huge_pages);
                call(fixture, out.begin() + offset / sizeof(float), executor);
            } else
                call(fixture, fixture.out, executor);
            if (how == Delivery::read)
                read_output(fixture, executor);
            benchmark::ClobberMemory();
        }
    };
}

template <class Call> Operation::Run reuse(Call call)
{
    return deliver(Delivery::reused, call);
}

// How the bare loops of a limit move rows, and how the names of such limits end: "_nt_t1_blocks".
struct NamedMode {
    std::string suffix;
    Mode mode;
};

using Modes = std::vector<NamedMode>;

// Returns all modes; those that prefetch; those without non-temporal stores; and those that count for a delivery: into
// fresh pages, whose first touch takes most of the time, rows are prefetched in few ways.
const Modes &all_modes();
const Modes &prefetching_modes();
const Modes &cached_modes();
const Modes &modes_of(Delivery how);

// Returns the names of the limits `name` in these modes.
std::vector<std::string> in_modes(const std::string &name, const Modes &modes);

// The rows of a call that a bare loop moves.
using BareCall = std::function<BareRows(const Fixture &fixture)>;

// Appends a limit for each mode: bare loops over the rows that `call` returns.
void add_limits(std::vector<Operation> &all, const std::string &name, unsigned series, unsigned traits, unsigned passes,
                const Modes &modes, const BareCall &call, Delivery how = Delivery::reused);

// Appends the limits of operations on float32 tables and on tables of sinusoids.
void add_plain_limits(std::vector<Operation> &all);

// Appends the layer over tables of the quantised types, and the limits of each.
void add_compact_operations(std::vector<Operation> &all);

// Appends the gathers of the series `small`, and the limits of each.
void add_small_operations(std::vector<Operation> &all);

// Appends lookups of hashed n-grams, the hash alone, and the limits of the lookup.
void add_ngram_operations(std::vector<Operation> &all);

// Appends layers that choose their strategy, and those that are told one.
void add_strategy_operations(std::vector<Operation> &all);

// Appends readers of rows of a file that lies on the disk or in memory.
void add_cold_operations(std::vector<Operation> &all);

// Returns all operations in the order of the table of results.
const std::vector<Operation> &operations();

// The scalar kernels round the real number correctly in integer arithmetic, at about 0.4 us for each pair of sine and
// cosine: they are measured only on tables of at most this many pairs.
constexpr std::size_t scalar_pairs = 4096;

// Returns whether to measure an operation on a shape with that number of threads and that ISA.
bool measured(const Operation &operation, const Shape &shape, std::size_t threads, const std::string &isa);

// Calls Fixture::layer.
void embed(const Fixture &fixture, float *out, const inlay_executor *executor);

// Returns how an operation stores: as Fixture::layer if it calls that, else as its size demands.
Stores stores_of(const Operation &operation, const Fixture &fixture);

// Returns the bytes that a call counts as moved.
std::int64_t bytes_moved(const Operation &operation, const Shape &shape);
