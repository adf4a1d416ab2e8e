// SPDX-License-Identifier: MIT
//
// The operations that are measured, and the limits they are compared with. To measure another operation, write its
// function in operations.cc and add a line to the table there. Its limits are in limit_calls.cc; operations on
// quantized tables are in quantized.cc. Operations are independent of ISA and clock: rounds.cc selects the ISA and
// reads the clock.
#pragma once

#include "shapes/fixture.h"

#include <benchmark/benchmark.h>
#include <functional>
#include <optional>
#include <string>
#include <vector>

enum class Role { kernel, limit }; // a kernel has a row per ISA, a limit has one unless it is per_isa
enum Trait : unsigned {
    large = 1,         // only for outputs of at least large_bytes
    lone = 2,          // only for batch 1
    copies = 4,        // only if the output has the type of the table
    parallel = 8,      // also on several threads, if the shape says so
    computes = 16,     // computes sinusoids
    same_stores = 32,  // compare only with limits that use the same stores
    waits = 64,        // waits for a disk, so use wall time
    renews = 128,      // Fixture::layer is new in each sample
    first_calls = 256, // a sample is the first ten calls, timed one by one
    per_isa = 512,     // a limit of kernels of the same ISA
};

// Where the output of a call is, and how it is used.
enum class Delivery {
    reused,   // the same memory in all calls
    read,     // the same memory, and after each call a consumer reads all of it once
    fresh_4k, // new memory from the system in each call, in pages of 4 KiB
    fresh_2m, // new memory from the system in each call, in pages of 2 MiB
};

// A delivery, the suffix of its operations' names, and their traits and passes.
struct Delivered {
    Delivery how;
    const char *suffix;
    unsigned traits, passes;
};

// In the order of the results. The first includes reading the output, as users do.
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
    unsigned series; // the shapes it is measured on
    unsigned traits;
    unsigned passes; // bytes moved over bytes of the float32 output; if `hashed`, over bytes read and written
    // The limits of a kernel, by name. `limits` move the same bytes of rows and output; the fastest one is the limit.
    // `streams` also read positions and scales; empty if there are none. A norm's limits also compute it.
    std::vector<std::string> limits, streams;
    // Makes `calls` calls, on one thread if executor is null. Empty if this machine can't run the operation.
    Run run;
    // The change to the spec of Fixture::layer, if the operation calls it; else empty.
    Change change{};
    // The stores of a bare loop over rows.
    std::optional<Stores> stores{};
    // Null, or called before each sample, outside the timing.
    void (*prepare)(const Fixture &fixture) = nullptr;
};

// Returns the number of calls until a layer on this fixture has timed all its choices.
std::size_t calls_to_settle(const Fixture &fixture);

// Calls part(first, n) for all of [0, rows) on this thread, or for equal shares on the executor's threads.
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

// Reads the output once, as a consumer would.
void read_output(const Fixture &fixture, const inlay_executor *executor);

// Returns a Run of call(fixture, out, executor) that the compiler can't optimize away.
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

// How a limit's bare loop moves rows, and the suffix of its name, e.g. "_nt_t1_blocks".
struct NamedMode {
    std::string suffix;
    Mode mode;
};

using Modes = std::vector<NamedMode>;

// Return all modes; those that prefetch; those with ordinary stores; and those used for a delivery. First touches
// dominate the time of fresh pages, so these use fewer modes.
const Modes &all_modes();
const Modes &prefetching_modes();
const Modes &cached_modes();
const Modes &modes_of(Delivery how);

// Returns the names of limit `name` in these modes.
std::vector<std::string> in_modes(const std::string &name, const Modes &modes);

// Returns the token rows and the position rows that sequences share, in the order of the library.
BareRows streams_of(const Fixture &fixture);

// Returns the rows of a call for a bare loop to move.
using BareCall = std::function<BareRows(const Fixture &fixture)>;

// Appends a limit for each mode: bare loops over the rows that `call` returns.
void add_limits(std::vector<Operation> &all, const std::string &name, unsigned series, unsigned traits, unsigned passes,
                const Modes &modes, const BareCall &call, Delivery how = Delivery::reused);

// Appends the limits of operations on float32 tables and on sinusoid tables.
void add_plain_limits(std::vector<Operation> &all);

// Appends the layers of encoders, and their limits.
void add_encoder_operations(std::vector<Operation> &all);

// Appends the layer with tables of each quantized type, and its limits.
void add_compact_operations(std::vector<Operation> &all);

// Appends the gathers of the series `small`, and their limits.
void add_small_operations(std::vector<Operation> &all);

// Appends lookups of hashed n-grams, the hash alone, and the limits of the lookup.
void add_ngram_operations(std::vector<Operation> &all);

// Appends self-tuning layers, and layers with fixed strategies.
void add_strategy_operations(std::vector<Operation> &all);

// Appends readers of rows of a file, on disk or in memory.
void add_cold_operations(std::vector<Operation> &all);

// Returns all operations in the order of the results.
const std::vector<Operation> &operations();

// The scalar kernels round correctly in integer arithmetic, 0.3 us (Zen 5) to 0.5 us (Zen 4) per sine and cosine. So
// they are only measured on tables of at most this many pairs.
constexpr std::size_t scalar_pairs = 4096;

// True if an operation is measured on a shape with that number of threads and that ISA.
bool measured(const Operation &operation, const Shape &shape, std::size_t threads, const std::string &isa);

// Fixes the stores by the size of the output, for layers that are compared with each other.
void store_alike(const Fixture &fixture, inlay_layer_spec &spec);

// Calls Fixture::layer.
void embed(const Fixture &fixture, float *out, const inlay_executor *executor);

// Returns an operation's stores: those of Fixture::layer if it calls that, else by output size.
Stores stores_of(const Operation &operation, const Fixture &fixture);

// Returns the bytes that a call moves, for GB/s.
std::int64_t bytes_moved(const Operation &operation, const Shape &shape);
