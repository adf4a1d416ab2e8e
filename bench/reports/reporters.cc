// SPDX-License-Identifier: MIT
//
// Prints plain columns with printf, without color or anything that depends on locale or terminal. The counters read by
// name here are set in main.cc.
#include "reports/reporters.h"

#include "timing/rounds.h"

#include <array>
#include <cstdio>

// Prints kernel, ISA, shape, median, minimum, GB/s, over limit, limit, over streams, loop and speed-up.
static void print_line(const std::array<std::string, 11> &cells)
{
    static constexpr int widths[] = {-21, -31, -27, 11, 12, 8, 12, -31, 13, -32, 9}; // negative: left-aligned
    std::string line;
    for (std::size_t i = 0; i < cells.size(); i++) {
        char cell[64];
        std::snprintf(cell, sizeof cell, "%*s ", widths[i], cells[i].c_str());
        line += cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(line.c_str());
}

TableReporter::TableReporter(const std::string &seed) : seed_(seed)
{
}

bool TableReporter::ReportContext(const Context &)
{
    std::string names;
    for (const Isa &isa : isas())
        names += std::string(" ") + isa.name;
    std::printf("inlay %s, one thread unless a row says otherwise; ISAs that run here:%s\n", inlay_version(),
                names.c_str());
    std::printf("median and minimum of %zu interleaved rounds, at least %zu if they take long\n", max_rounds,
                min_rounds);
    std::printf(
        "GB/s: (bytes read from the table or from x + bytes written) / median; for sinusoids and fills: bytes written\n"
        "over limit: median over that of the named limit, the fastest bare loop that moves the same bytes of rows and "
        "output\n"
        "            norms: and computes the norm; segments, position_ids and padding_aware: the plain layer\n"
        "over streams: median over that of the named loop, the fastest that also reads the positions and scales\n"
        "speed-up: one thread over several; with several threads all ratios are of the fastest rounds, in wall time\n"
        "shapes: b batch, s seq, d dim, v vocab; r rows of a table of sinusoids; at: bytes past a page; t threads\n");
    std::printf("scalar takes about 0.5 us for a sine and cosine: it is measured up to %zu pairs\n", scalar_pairs);
    if (!seed_.empty())
        std::printf("random seed: %s\n", seed_.c_str());
    std::puts("");
    print_line({"kernel", "ISA", "shape", "median", "minimum", "GB/s", "over limit", "limit", "over streams", "loop",
                "speed-up"});
    return true;
}

static std::string with_unit(double seconds)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    std::size_t i = 0;
    while (i < 3 && seconds < units[i].seconds)
        i++;
    char text[32];
    std::snprintf(text, sizeof text, "%.2f %-2s", seconds / units[i].seconds, units[i].name);
    return text;
}

// Returns a counter as text; empty if the row doesn't have it.
static std::string counter(const benchmark::BenchmarkReporter::Run &run, const char *name, double unit, int decimals)
{
    const auto found = run.counters.find(name);
    if (found == run.counters.end())
        return "";
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", decimals, found->second.value / unit);
    return text;
}

void TableReporter::ReportRuns(const std::vector<Run> &runs)
{
    for (const Run &run : runs) {
        if (run.run_type != Run::RT_Iteration)
            continue; // aggregates over repetitions, which only the other formats show
        const std::string &name = run.run_name.function_name;
        const std::size_t first = name.find('/'), second = name.find('/', first + 1);
        const std::string kernel = name.substr(0, first);
        if (kernel != kernel_)
            std::printf("\n");
        kernel_ = kernel;
        const double median = run.real_accumulated_time / static_cast<double>(run.iterations);
        const std::string &label = run.report_label;
        const std::size_t end = label.find("; ");
        const std::string limit = label.substr(0, end), loop = end == label.npos ? "" : label.substr(end + 2);
        print_line({kernel, name.substr(first + 1, second - first - 1), name.substr(second + 1), with_unit(median),
                    with_unit(run.counters.at("seconds_minimum").value), counter(run, "bytes_per_second", 1e9, 1),
                    counter(run, "time_over_limit", 1, 2), limit, counter(run, "time_over_streams", 1, 2), loop,
                    counter(run, "speed_up", 1, 2)});
    }
    std::fflush(stdout);
}

PlainNamesReporter::PlainNamesReporter(benchmark::BenchmarkReporter *reporter) : reporter_(reporter)
{
}

bool PlainNamesReporter::ReportContext(const Context &context)
{
    return reporter_->ReportContext(context);
}

void PlainNamesReporter::ReportRuns(const std::vector<Run> &runs)
{
    std::vector<Run> plain = runs;
    for (Run &run : plain)
        run.run_name.iterations = run.run_name.time_type = "";
    reporter_->ReportRuns(plain);
}

void PlainNamesReporter::Finalize()
{
    reporter_->Finalize();
}
