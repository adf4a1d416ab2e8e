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
static constexpr std::size_t rounds[] = {4, 12};               // cold and warm
static constexpr double sample_seconds[] = {0.2, 0.05};        // of a reader in a round
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
    for (std::size_t round = 0; round < rounds[static_cast<std::size_t>(shape.temperature)]; round++) {
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

static void print_cold_line(const ColdShape &shape)
{
    const Times &ours = shape.times[0], &faults = shape.times[1], &fastest = fastest_limit(shape);
    const double rows = rows_per_second(shape, ours), by_faults = rows_per_second(shape, faults);
    const double times = rows / by_faults, share = rows / rows_per_second(shape, fastest);
    const bool met = share >= target_of_fastest && (shape.rows > 24 || times >= target_over_faults);
    std::printf("%-14s %10.0f %10.0f %10.0f %10.1f %12.2f  %s%s%s\n", shape_name(shape).c_str(), rows,
                1e6 * median(ours.calls), by_faults, times, share, fastest.reader->name, verdict(met),
                shape.remained > 0.01 ? "  (the cache was not empty)" : "");
}

static void print_warm_line(const ColdShape &shape)
{
    const Times &ours = shape.times[0], &resident = shape.times[1], &mapped = shape.times[2];
    const double seconds = median(ours.calls), ratio = seconds / median(resident.calls);
    std::printf("%-14s %10.0f %10.2f %14.2f %14.2f%s\n", shape_name(shape).c_str(), rows_per_second(shape, ours),
                1e6 * seconds, ratio, seconds / median(mapped.calls),
                verdict(shape.rows > 24 || ratio <= target_over_resident));
}

// Prints what was measured at a temperature; returns whether anything was.
static bool print_lines(Temperature temperature, const char *heading, void (*print_line)(const ColdShape &shape))
{
    bool any = false;
    for (const ColdShape &shape : shapes) {
        if (shape.temperature != temperature || shape.times[0].calls.empty())
            continue;
        if (!any)
            std::puts(heading);
        any = true;
        print_line(shape);
    }
    return any;
}

// Reads rows that are in the system's cache under a cap, and prints how much of the file was resident after a call.
static void print_capped()
{
    static constexpr std::size_t width = cold_widths[0], rows = 24, cap = std::size_t{128} << 20;
    const ColdFile &file = the_file();
    inlay_table table;
    inlay_file *capped = file.open_capped(cap, width, &table);
    std::vector<float> out(rows * table.dim);
    std::vector<std::int32_t> ids(rows);
    std::mt19937 random;
    std::uniform_int_distribution<std::int32_t> any_row(0, static_cast<std::int32_t>(table.rows - 1));
    std::vector<double> seconds;
    std::size_t most = 0;
    for (std::size_t call = 0; call < 50000; call++) {
        std::generate(ids.begin(), ids.end(), [&] { return any_row(random); });
        const double before = seconds_of(CLOCK_MONOTONIC);
        inlay_file_read read;
        inlay_file_read_begin(capped, &table, ids.data(), INLAY_ID_I32, rows, &read);
        require(inlay_gather(&table, ids.data(), INLAY_ID_I32, rows, 1, out.data(), width, nullptr, nullptr));
        inlay_file_read_end(capped, &read);
        seconds.push_back(seconds_of(CLOCK_MONOTONIC) - before);
        if (call % 1000 == 999) // which takes tens of milliseconds
            most = std::max(most, resident_bytes_at(table.data));
    }
    std::printf("\nrows in the system's cache, %zu of %zu bytes in a call, under a cap of %zu MiB: at most %.1f MiB "
                "resident, p50 %.1f us, slowest call %.0f us\n",
                rows, width, cap >> 20, static_cast<double>(most) / 0x1p20, 1e6 * median(seconds),
                1e6 * *std::max_element(seconds.begin(), seconds.end()));
    inlay_file_close(capped);
}

void print_cold()
{
    char heading[512];
    std::snprintf(heading, sizeof heading,
                  "\nrows from the disk; targets: %.0f times those of page faults at 24 rows, %.1f of the fastest bare "
                  "reader\n%-14s %10s %10s %10s %10s %12s  %s",
                  target_over_faults, target_of_fastest, "call", "rows/s", "p50, us", "by faults", "times",
                  "of fastest", "fastest");
    if (print_lines(Temperature::cold, heading, print_cold_line))
        std::printf("disk: %s\n", the_file().describe().c_str());
    std::snprintf(heading, sizeof heading,
                  "\nrows in memory, all tables in pages of 4 KiB; target: at most %.2f of the time of a table of no "
                  "file at 24 rows\n%-14s %10s %10s %14s %14s",
                  target_over_resident, "call", "rows/s", "p50, us", "over no file", "over a mapping");
    if (print_lines(Temperature::warm, heading, print_warm_line))
        print_capped();
}
