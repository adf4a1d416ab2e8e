// SPDX-License-Identifier: MIT
//
// The rounds of the series: all readers of a shape in turn, another one first in each round, and cold ones with an
// empty cache each time. Google Benchmark gets medians; rows per second, which are what a disk is judged by, stand
// below the table.
#include "cold.h"

#include "cold_readers.h"
#include "pages.h"
#include "rounds.h"

#include "dispatch/dispatch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>

static constexpr std::size_t rows_of_calls[] = {24, 384, 4096};
static constexpr std::size_t rounds = 4;
static constexpr double sample_seconds[] = {0.2, 0.1};         // of a reader in a round, cold and warm
static constexpr std::size_t calls_least = 2;                  // in that time: 4096 page faults take half a second
static constexpr std::size_t warm_rows = std::size_t{1} << 18; // that are timed together, with other ids for each call
static constexpr std::size_t warm_up_calls = 64;               // until requests are off

// A reader of a shape, with the seconds of its calls, one by one, or of warm ones the mean of many.
struct Times {
    const Reader *reader;
    std::vector<double> calls{};
};

struct ColdShape {
    Temperature temperature;
    std::size_t rows, width;
    std::vector<Times> times{};
    double remained = 0; // the largest share of the file that the cache held when a sample began
};

static std::vector<ColdShape> make_shapes()
{
    std::vector<ColdShape> made;
    for (const Temperature temperature : {Temperature::cold, Temperature::warm})
        for (const std::size_t width : cold_widths)
            for (const std::size_t rows : rows_of_calls)
                made.push_back({temperature, rows, width});
    for (ColdShape &shape : made)
        for (const Reader &reader : readers())
            if (reader.temperature == shape.temperature)
                shape.times.push_back({&reader});
    return made;
}

static std::vector<ColdShape> shapes = make_shapes();

static const ColdFile &the_file()
{
    static const ColdFile file;
    return file;
}

// Returns a copy of a table in small pages, as its mapping has them.
static const unsigned char *resident_copy(const ColdTable &table)
{
    static const ColdTable *held;
    static Pages<unsigned char> copy;
    if (held != &table) {
        copy.reset();
        copy = make_pages<unsigned char>(table.bytes, small_pages);
        std::memcpy(copy.get(), table.view.data, table.bytes);
        held = &table;
    }
    return copy.get();
}

static double seconds_of(clockid_t clock)
{
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Measures one reader for a while.
static void take_sample(const ColdShape &shape, const Reading &reading, Times &times, std::mt19937 &random)
{
    const bool warm = shape.temperature == Temperature::warm;
    const std::size_t together = warm ? warm_rows / shape.rows : 1;
    std::vector<std::int32_t> ids(together * shape.rows);
    std::uniform_int_distribution<std::int32_t> any_row(0, static_cast<std::int32_t>(reading.table.view.rows - 1));
    const double least = sample_seconds[warm];
    std::size_t samples = 0;
    for (double total = 0; total < least || samples < calls_least; samples++) {
        std::generate(ids.begin(), ids.end(), [&] { return any_row(random); });
        for (std::size_t call = 0; warm && call < warm_up_calls; call++)
            times.reader->read(reading, ids.data());
        // What waits for a disk is measured by the wall clock, what does not by that of the thread.
        const clockid_t clock = warm ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
        const double before = seconds_of(clock);
        for (std::size_t call = 0; call < together; call++)
            times.reader->read(reading, ids.data() + call * shape.rows);
        const double seconds = seconds_of(clock) - before;
        times.calls.push_back(seconds / static_cast<double>(together));
        total += seconds;
    }
}

static void measure(ColdShape &shape)
{
    const ColdFile &file = the_file();
    const ColdTable &table = file.table(shape.width);
    const Pages<unsigned char> out = make_pages<unsigned char>(shape.rows * shape.width);
    std::memset(out.get(), 1, shape.rows * shape.width);
    if (shape.temperature == Temperature::warm)
        file.warm(table);
    const unsigned char *resident = shape.temperature == Temperature::warm ? resident_copy(table) : nullptr;
    const Reading reading = {file, table, resident, shape.rows, shape.width, out.get()};
    std::mt19937 random; // default seed: the same rows in every run
    inlay_dispatch_use(isas().front().kernels);
    for (std::size_t round = 0; round < rounds; round++) {
        for (std::size_t i = 0; i < shape.times.size(); i++) {
            if (shape.temperature == Temperature::cold)
                shape.remained = std::max(shape.remained, file.drop());
            take_sample(shape, reading, shape.times[(i + round) % shape.times.size()], random);
        }
    }
}

static double rows_per_second(const ColdShape &shape, const Times &times)
{
    double seconds = 0;
    for (const double call : times.calls)
        seconds += call;
    return static_cast<double>(shape.rows * times.calls.size()) / seconds;
}

static const Times &fastest_limit(const ColdShape &shape)
{
    return *std::max_element(shape.times.begin() + 1, shape.times.end(), [&](const Times &a, const Times &b) {
        return rows_per_second(shape, a) < rows_per_second(shape, b);
    });
}

static std::string shape_name(const ColdShape &shape)
{
    return "n" + std::to_string(shape.rows) + "_w" + std::to_string(shape.width);
}

static void run(benchmark::State &row, ColdShape &shape, std::size_t index, bool choosing)
{
    const Times &times = shape.times[index];
    if (!choosing && times.calls.empty())
        measure(shape);
    const double seconds = choosing ? 1 : median(times.calls);
    for (auto _ : row)
        row.SetIterationTime(seconds);
    if (choosing)
        return;
    const double rows = rows_per_second(shape, times);
    row.counters["seconds_minimum"] = minimum(times.calls);
    row.counters["rows_per_second"] = rows;
    row.SetBytesProcessed(static_cast<std::int64_t>(rows * seconds * static_cast<double>(2 * shape.width)));
    if (!times.reader->ours)
        return;
    const Times &limit = shape.temperature == Temperature::warm ? shape.times[1] : fastest_limit(shape);
    row.counters["time_over_limit"] = rows_per_second(shape, limit) / rows;
    row.SetLabel(limit.reader->name);
}

void register_cold(bool choosing)
{
    for (const bool ours : {true, false})
        for (ColdShape &shape : shapes)
            for (std::size_t i = 0; i < shape.times.size(); i++) {
                const Reader &reader = *shape.times[i].reader;
                if (reader.ours != ours)
                    continue;
                const std::string isa = isas().front().name, name = reader.name;
                const std::string begin = ours ? name + "/" + isa : "limit/" + name;
                benchmark::RegisterBenchmark((begin + "/" + shape_name(shape)).c_str(), run, std::ref(shape), i,
                                             choosing)
                    ->Iterations(1)
                    ->UseManualTime();
            }
}

// The least of rows per second over those of page faults at 24 rows and of the fastest bare reader at any, and the most
// of the time over that of a table in memory.
static constexpr double target_over_faults = 3, target_of_fastest = 0.8, target_over_resident = 1.08;

static const char *verdict(bool met)
{
    return met ? "" : "  (missed)";
}

static void print_line(const ColdShape &shape)
{
    const Times &ours = shape.times[0], &plain = shape.times[1], &fastest = fastest_limit(shape);
    const double rows = rows_per_second(shape, ours), over_plain = rows / rows_per_second(shape, plain);
    if (shape.temperature == Temperature::warm) {
        const double ratio = median(ours.calls) / median(plain.calls);
        std::printf("%-14s %10.0f %10.2f %10.2f%s\n", shape_name(shape).c_str(), rows, 1e6 * median(ours.calls), ratio,
                    verdict(ratio <= target_over_resident));
        return;
    }
    const double share = rows / rows_per_second(shape, fastest);
    std::printf("%-14s %10.0f %10.0f %10.0f %10.1f %12.2f  %s%s%s\n", shape_name(shape).c_str(), rows,
                1e6 * median(ours.calls), rows_per_second(shape, plain), over_plain, share, fastest.reader->name,
                verdict(share >= target_of_fastest && (shape.rows > 24 || over_plain >= target_over_faults)),
                shape.remained > 0.01 ? "  (the cache was not empty)" : "");
}

void print_cold()
{
    for (const Temperature temperature : {Temperature::cold, Temperature::warm}) {
        bool first = true;
        for (const ColdShape &shape : shapes) {
            if (shape.temperature != temperature || shape.times[0].calls.empty())
                continue;
            if (first && temperature == Temperature::cold)
                std::printf(
                    "\nrows from the disk (%s); targets: %.0f times those of page faults at 24 rows, %.1f of the "
                    "fastest bare reader\n%-14s %10s %10s %10s %10s %12s  %s\n",
                    the_file().describe().c_str(), target_over_faults, target_of_fastest, "call", "rows/s", "p50, us",
                    "by faults", "times", "of fastest", "fastest");
            else if (first)
                std::printf("\nrows in memory, both tables in pages of 4 KiB; target: at most %.2f of the time from "
                            "memory without a file\n%-14s %10s %10s %10s\n",
                            target_over_resident, "call", "rows/s", "p50, us", "ratio");
            first = false;
            print_line(shape);
        }
    }
}
