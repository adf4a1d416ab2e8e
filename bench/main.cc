// SPDX-License-Identifier: MIT
//
// inlay_bench: every operation of the library, on every ISA that runs here, compared with its limits. Google Benchmark
// provides the command line, the filter and the formats. rounds.cc provides the clock, because a ratio of two
// benchmarks that ran minutes apart means little.
#include "reports/choices.h"
#include "reports/reporters.h"
#include "reports/summary.h"
#include "serve/serve.h"
#include "timing/rounds.h"
#include "timing/thread_pools.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>

// The contenders of one shape, measured together.
struct Group {
    Shape shape;
    std::vector<Contender> contenders;
};

static Summary summary;
static Choices choices;

// Returns the limit of that name with the same number of threads, or null.
static const Contender *find_limit(const Group &group, const std::string &name, const Contender &contender)
{
    for (const Contender &limit : group.contenders)
        if (limit.threads == contender.threads && limit.operation->name == name && limits(limit, contender))
            return &limit;
    return nullptr;
}

// Returns the fastest of the named limits with the same number of threads that took part in all rounds, or null. A
// layer's stores are its own choice.
static const Contender *fastest_limit(const Group &group, const Contender &contender,
                                      const std::vector<std::string> &names)
{
    const Contender *fastest = nullptr;
    for (const std::string &name : names) {
        const Contender *limit = find_limit(group, name, contender);
        const bool counts =
            limit && limit->seconds.size() == contender.seconds.size() &&
            (!contender.stores || limit->operation->change || limit->operation->stores == contender.stores);
        if (counts && (!fastest || typical(*limit) < typical(*fastest)))
            fastest = limit;
    }
    return fastest;
}

static std::string limit_name(const Contender &limit)
{
    return limit.operation->name + (limit.operation->traits & per_isa ? std::string("_") + limit.isa.name : "");
}

static std::optional<Ratio> ratio_over(const Contender *limit, const Contender &contender)
{
    if (!limit)
        return {};
    return Ratio{limit_name(*limit), typical(contender) / typical(*limit)};
}

// Returns the same contender on one thread.
static const Contender &on_one_thread(const Group &group, const Contender &contender)
{
    return *std::find_if(group.contenders.begin(), group.contenders.end(), [&](const Contender &other) {
        return other.operation == contender.operation && other.isa.kernels == contender.isa.kernels &&
               other.threads == 1;
    });
}

static std::string row_name(const Shape &shape, const Contender &contender)
{
    const std::string operation = contender.operation->name;
    const bool kernel = contender.operation->role == Role::kernel;
    return (kernel ? operation + "/" + contender.isa.name : "limit/" + limit_name(contender)) + "/" +
           shape_name(shape) + (contender.threads > 1 ? "_t" + std::to_string(contender.threads) : "");
}

// Sets the ratios of a kernel, and its label to the names of both limits: "copy_nt; streams_nt".
static void report_ratios(benchmark::State &state, const Group &group, const Contender &contender)
{
    const Contender *limit = fastest_limit(group, contender, contender.operation->limits);
    if (!limit)
        return;
    const Contender *streams = fastest_limit(group, contender, contender.operation->streams);
    const std::optional<Ratio> over_limit = ratio_over(limit, contender), over_streams = ratio_over(streams, contender);
    state.counters["time_over_limit"] = over_limit->value;
    state.counters["scatter"] = scatter(contender, *limit);
    if (over_streams)
        state.counters["time_over_streams"] = over_streams->value;
    state.SetLabel(over_limit->limit + (over_streams ? "; " + over_streams->limit : ""));
    if (group.shape.series & (forced | strategic)) {
        std::vector<const Contender *> alternatives;
        for (const std::string &name : contender.operation->limits)
            if (const Contender *alternative = find_limit(group, name, contender))
                alternatives.push_back(alternative);
        choices.add(group.shape, contender, *limit, alternatives);
    } else if (std::strcmp(contender.isa.name, "scalar") != 0)
        summary.add(group.shape, row_name(group.shape, contender), over_limit, over_streams);
}

static void report(benchmark::State &state, const Group &group, const Contender &contender)
{
    const Operation &operation = *contender.operation;
    const double seconds = median(contender.seconds);
    for (auto _ : state)
        state.SetIterationTime(seconds);
    state.counters["seconds_minimum"] = minimum(contender.seconds);
    state.counters["rounds"] = static_cast<double>(contender.seconds.size());
    state.SetBytesProcessed(bytes_moved(operation, group.shape));
    state.counters["on_threads"] = static_cast<double>(contender.threads);
    report_ratios(state, group, contender);
    if (contender.threads > 1)
        state.counters["speed_up"] = minimum(on_one_thread(group, contender).wall) / minimum(contender.wall);
}

static void run(benchmark::State &state, Group &group, std::size_t index)
{
    Contender &contender = group.contenders[index];
    // The first row of a shape measures all its rows; repeating a row measures them again.
    if (contender.seconds.empty() || contender.reported)
        measure(group.shape, group.contenders);
    contender.reported = true;
    report(state, group, contender);
}

static std::vector<Contender> make_contenders(const Shape &shape)
{
    std::vector<Contender> contenders;
    for (const Operation &operation : operations())
        for (std::size_t threads : thread_counts())
            for (const Isa &isa : isas()) {
                if (measured(operation, shape, threads, isa.name))
                    contenders.push_back({&operation, isa, threads});
                const bool once = operation.role == Role::limit && !(operation.traits & per_isa);
                if (once || shape.series & (forced | strategic | cold | warm))
                    break; // not per ISA
            }
    return contenders;
}

static std::vector<Group> make_groups(const std::vector<Shape> &shapes)
{
    std::vector<Group> groups;
    for (const Shape &shape : shapes)
        groups.push_back({shape, make_contenders(shape)});
    return groups;
}

static void register_rows(Group &group, const Operation &operation)
{
    for (std::size_t i = 0; i < group.contenders.size(); i++)
        if (group.contenders[i].operation == &operation && group.contenders[i].wanted)
            benchmark::RegisterBenchmark(row_name(group.shape, group.contenders[i]).c_str(), run, std::ref(group), i)
                ->Iterations(1)
                ->UseManualTime();
}

// Registers the wanted rows in the order of the table: kernels by shape and ISA, then limits by shape.
static void register_all(std::vector<Group> &groups)
{
    for (const Operation &operation : operations())
        for (Group &group : groups)
            if (operation.role == Role::kernel)
                register_rows(group, operation);
    for (Group &group : groups)
        for (const Operation &operation : operations())
            if (operation.role == Role::limit)
                register_rows(group, operation);
}

// Returns a predicate for the filter. Google Benchmark would match the longer names it makes from rows.
static ChoosesRow read_filter()
{
    std::string filter = benchmark::GetBenchmarkFilter();
    if (filter == "all") // as in Google Benchmark
        filter.clear();
    const bool inverse = filter.rfind('-', 0) == 0;
    const std::regex pattern(inverse ? filter.substr(1) : filter, std::regex::extended);
    return [=](const std::string &row) { return std::regex_search(row, pattern) != inverse; };
}

// Marks and registers the chosen rows, except those of shapes that don't fit in memory. Returns false if none remain.
static bool choose(std::vector<Group> &groups, const ChoosesRow &chosen)
{
    const auto is_left_out = [&](Group &group) {
        bool wanted = false;
        for (Contender &contender : group.contenders) {
            contender.wanted = chosen(row_name(group.shape, contender));
            wanted = wanted || contender.wanted;
        }
        if (wanted && !fits(group.shape))
            std::fprintf(stderr, "inlay_bench: not enough memory for %s\n", shape_name(group.shape).c_str());
        return !wanted || !fits(group.shape);
    };
    groups.erase(std::remove_if(groups.begin(), groups.end(), is_left_out), groups.end());
    register_all(groups);
    return !groups.empty();
}

// Returns the CPU's name (x86-64) or part number (ARM) as reported by Linux. It keeps runs of different machines apart.
static std::string cpu_name()
{
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line))
        if (line.rfind("model name", 0) == 0 || line.rfind("CPU part", 0) == 0)
            return line.substr(std::min(line.size(), line.find(':') + 2));
    return "unknown";
}

// The shapes to measure.
struct Choice {
    std::vector<Shape> shapes{std::begin(default_shapes), std::end(default_shapes)};
    std::string seed;      // of random shapes; empty: none
    bool filtered = false; // a filter was given: include the series that take minutes
};

// Removes --small and --random SEED from the arguments that Google Benchmark has left. A filter selects among all
// listed shapes. Without one, shapes with large tables are left out, since they take minutes.
static Choice take_choice(int &argc, char **argv)
{
    static constexpr std::size_t random_count = 16;
    Choice choice;
    const std::vector<Shape> heads = rotating_shapes();
    choice.shapes.insert(choice.shapes.end(), heads.begin(), heads.end());
    choice.filtered = !benchmark::GetBenchmarkFilter().empty();
    if (choice.filtered)
        for (const std::vector<Shape> &more : {small_shapes(), hashed_shapes(), strategic_shapes(), cold_shapes()})
            choice.shapes.insert(choice.shapes.end(), more.begin(), more.end());
    int kept = 1;
    for (int i = 1; i < argc; i++)
        if (!std::strcmp(argv[i], "--small"))
            choice.shapes = small_shapes();
        else if (!std::strcmp(argv[i], "--random") && i + 1 < argc) {
            choice.seed = argv[++i];
            choice.shapes = random_shapes(std::strtoull(argv[i], nullptr, 0), random_count);
        } else
            argv[kept++] = argv[i];
    argc = kept;
    return choice;
}

int main(int argc, char **argv)
try {
    const bool table = std::none_of(
        argv, argv + argc, [](const std::string &argument) { return argument.rfind("--benchmark_format", 0) == 0; });
    benchmark::Initialize(&argc, argv);
    const Choice choice = take_choice(argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    if (!start_thread_pools())
        std::fprintf(stderr, "inlay_bench: not pinned to a core\n");

    benchmark::AddCustomContext("inlay", inlay_version());
    benchmark::AddCustomContext("cpu", cpu_name());
    benchmark::AddCustomContext("scalar_sinusoids", "at most " + std::to_string(scalar_pairs) + " pairs");
    if (!choice.seed.empty())
        benchmark::AddCustomContext("random seed", choice.seed);

    std::vector<Group> groups = make_groups(choice.shapes);
    const ChoosesRow chosen = read_filter();
    const bool listed = choose(groups, chosen), serves = choice.filtered && register_serve(chosen);
    if (listed || serves)
        benchmark::SetBenchmarkFilter("."); // everything registered

    PlainNamesReporter reporter(table ? new TableReporter(choice.seed) : benchmark::CreateDefaultDisplayReporter());
    const std::size_t rows = benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::Shutdown();
    if (table) {
        summary.print(cpu_name());
        choices.print();
        print_serve();
    }
    return rows ? 0 : 1;
} catch (const std::regex_error &error) {
    std::fprintf(stderr, "inlay_bench: the filter: %s\n", error.what());
    return 2;
}
