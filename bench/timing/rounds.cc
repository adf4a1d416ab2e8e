// SPDX-License-Identifier: MIT
//
// The rounds. Nothing is allocated, printed or built between two measurements of a round.
#include "timing/rounds.h"

#include "timing/thread_pools.h"

extern "C" {
#include "dispatch/dispatch.h"
}

#include <algorithm>

// Much longer than the microsecond it takes to read the clock. A call that takes longer is measured alone.
static constexpr double sample_seconds = 5e-3;
// Long enough to fill a cache of tens of MiB with this contender's data. After another contender's non-temporal stores,
// scaling 32 MiB in place takes 2.3 ms, and 1.1 ms from the fourth call on.
static constexpr double warm_up_seconds = 10e-3;
static constexpr std::size_t warm_up_calls = 2;
// Before the rounds, a layer makes calls until it has settled, or for this long.
static constexpr double settling_seconds = 0.5;

static std::vector<Isa> find_isas()
{
    std::vector<Isa> found;
    bool runs;
    for (std::size_t i = 0; const inlay_kernels *kernels = inlay_dispatch_at(i, &runs); i++)
        if (runs)
            found.push_back({inlay_isa_at(i, nullptr), kernels});
    return found;
}

const std::vector<Isa> &isas()
{
    static const std::vector<Isa> found = find_isas();
    return found;
}

double now(clockid_t clock)
{
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Seconds {
    double thread, wall;
};

// Times calls with two clocks. The thread's clock stops while the system gives the core to another process. Operations
// on one thread wait for nothing, so on an idle machine it agrees with wall time.
static Seconds seconds_for(const Fixture &fixture, const Contender &contender, std::size_t calls)
{
    inlay_dispatch_use(contender.isa.kernels);
    const inlay_executor *executor = executor_for(contender.threads);
    const Seconds start = {now(CLOCK_THREAD_CPUTIME_ID), now(CLOCK_MONOTONIC)};
    contender.operation->run(fixture, executor, calls);
    const double wall = now(CLOCK_MONOTONIC) - start.wall;
    const double thread = now(CLOCK_THREAD_CPUTIME_ID) - start.thread;
    put_to_sleep(contender.threads);
    return {thread, wall};
}

// Returns how many calls of `one` seconds take `seconds`, at least `least`.
static std::size_t calls_for(double seconds, double one, std::size_t least)
{
    return std::max(least, static_cast<std::size_t>(seconds / one));
}

// A contender in the rounds.
struct Entry {
    Contender *contender;
    std::size_t warm_up; // untimed calls
    std::size_t calls;   // timed calls
};

// Prepares the layer of a contender. The best ISA creates it: a slow one would compute sinusoids for seconds.
static void take_turn(const Fixture &fixture, const Contender &contender, bool renew)
{
    const Operation &operation = *contender.operation;
    const std::string name = operation.name + contender.isa.name + std::to_string(contender.threads);
    inlay_dispatch_use(isas().front().kernels);
    if (operation.change && renew)
        fixture.renew_layer(name, operation.change);
    else if (operation.change)
        fixture.use_layer(name, operation.change);
    inlay_dispatch_use(contender.isa.kernels);
}

static Entry prepare(const Fixture &fixture, Contender &contender)
{
    take_turn(fixture, contender, false);
    if (contender.operation->prepare)
        contender.operation->prepare(fixture);
    if (contender.operation->traits & first_calls)
        return {&contender, 0, 1};
    seconds_for(fixture, contender, 1);
    const double one = std::max(1e-9, seconds_for(fixture, contender, 1).wall); // the resolution of the clock
    if (contender.operation->change)
        seconds_for(fixture, contender, std::min(calls_to_settle(fixture), calls_for(settling_seconds, one, 1)));
    return {&contender, calls_for(warm_up_seconds, one, warm_up_calls), calls_for(sample_seconds, one, 1)};
}

bool limits(const Contender &limit, const Contender &kernel)
{
    return !(limit.operation->traits & per_isa) || limit.isa.kernels == kernel.isa.kernels;
}

// True if `names` contains the operation.
static bool lists(const std::vector<std::string> &names, const Operation &limit)
{
    return std::find(names.begin(), names.end(), limit.name) != names.end();
}

static bool needs(const Contender &wanted, const Contender &other)
{
    const Operation &kernel = *wanted.operation;
    if (lists(kernel.limits, *other.operation) || lists(kernel.streams, *other.operation))
        return limits(other, wanted) && (other.threads == wanted.threads || other.threads == 1);
    return other.threads == 1 && other.operation == &kernel && other.isa.kernels == wanted.isa.kernels;
}

static bool takes_part(const Contender &contender, const std::vector<Contender> &all)
{
    return contender.wanted || std::any_of(all.begin(), all.end(), [&](const Contender &other) {
               return other.wanted && needs(other, contender);
           });
}

static Seconds seconds_of_first_calls(const Fixture &fixture, Contender &contender)
{
    static constexpr std::size_t calls = 10;
    Seconds sum = {0, 0};
    double slowest = 0;
    for (std::size_t call = 0; call < calls; call++) {
        const Seconds one = seconds_for(fixture, contender, 1);
        slowest = std::max(slowest, one.thread);
        sum = {sum.thread + one.thread / calls, sum.wall + one.wall / calls};
    }
    contender.slowest.push_back(slowest);
    return sum;
}

static void take_sample(const Fixture &fixture, const Entry &entry)
{
    Contender &contender = *entry.contender;
    take_turn(fixture, contender, contender.operation->traits & renews);
    if (contender.operation->prepare)
        contender.operation->prepare(fixture);
    seconds_for(fixture, contender, entry.warm_up);
    const Seconds seconds = contender.operation->traits & first_calls ? seconds_of_first_calls(fixture, contender)
                                                                      : seconds_for(fixture, contender, entry.calls);
    const double n = static_cast<double>(entry.calls);
    contender.seconds.push_back(
        (contender.threads > 1 || contender.operation->traits & waits ? seconds.wall : seconds.thread) / n);
    contender.wall.push_back(seconds.wall / n);
}

// After these rounds, loops that can't be a limit are dropped.
static constexpr std::size_t screening_rounds = 2;
static constexpr double screening_ratio = 1.4;

// Returns the fastest time so far of the named limits with the same stores as `like`.
static double fastest_of(const std::vector<std::string> &names, const Contender &like,
                         const std::vector<Contender> &all)
{
    double fastest = minimum(like.seconds);
    for (const Contender &other : all)
        if (other.threads == like.threads && other.isa.kernels == like.isa.kernels && !other.seconds.empty() &&
            lists(names, *other.operation) && other.operation->stores == like.operation->stores)
            fastest = std::min(fastest, minimum(other.seconds));
    return fastest;
}

// True if a bare loop is much slower than the fastest one with the same stores in every list that names it.
static bool hopeless(const Contender &limit, const std::vector<Contender> &all)
{
    if (!limit.operation->stores)
        return false;
    for (const Operation &kernel : operations())
        for (const auto *names : {&kernel.limits, &kernel.streams})
            if (lists(*names, *limit.operation) &&
                minimum(limit.seconds) <= screening_ratio * fastest_of(*names, limit, all))
                return false;
    return true;
}

void measure(const Shape &shape, std::vector<Contender> &contenders)
{
    inlay_dispatch_use(isas().front().kernels); // for the positions that the fixture prepares
    const Fixture fixture(shape);
    std::vector<Entry> entries;
    for (Contender &contender : contenders) {
        contender.reported = false;
        contender.slowest.clear();
        for (std::vector<double> *samples : {&contender.seconds, &contender.wall}) {
            samples->clear();
            samples->reserve(rounds_strategic);
        }
        if (takes_part(contender, contenders))
            entries.push_back(prepare(fixture, contender));
    }

    const double start = now(CLOCK_MONOTONIC);
    const bool strategies = shape.series == strategic;
    for (std::size_t round = 0; round < (strategies ? rounds_strategic : max_rounds); round++) {
        if (!strategies && round >= min_rounds && now(CLOCK_MONOTONIC) - start > rounds_seconds)
            break;
        for (const Entry &entry : entries)
            take_sample(fixture, entry);
        if (round + 1 == screening_rounds)
            entries.erase(std::remove_if(entries.begin(), entries.end(),
                                         [&](const Entry &entry) { return hopeless(*entry.contender, contenders); }),
                          entries.end());
        // The next round starts with another contender.
        std::rotate(entries.begin(), entries.begin() + 1, entries.end());
    }
    for (Contender &contender : contenders) {
        if (!(contender.operation->traits & same_stores) || contender.seconds.empty())
            continue;
        take_turn(fixture, contender, false);
        contender.stores = stores_of(*contender.operation, fixture);
    }
}

double typical(const Contender &contender)
{
    return contender.threads > 1 ? minimum(contender.seconds) : median(contender.seconds);
}

double scatter(const Contender &contender, const Contender &limit)
{
    std::vector<double> ratios = ratios_of(contender.seconds, limit.seconds);
    std::sort(ratios.begin(), ratios.end());
    const std::size_t quarter = ratios.size() / 4;
    return (ratios[ratios.size() - 1 - quarter] - ratios[quarter]) / 2 / median(ratios);
}
