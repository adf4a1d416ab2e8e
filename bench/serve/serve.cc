// SPDX-License-Identifier: MIT
//
// Uses wall time, since queueing time counts. The layers take turns in slices of one second, so whatever slows the
// machine for a while slows all of them. There are at least a thousand requests of each kind. With fewer, p99 would be
// dominated by the few calls in which a new layer tries other stores.
#include "serve/serve.h"

#include "operations/operations.h"
#include "reports/grid.h"
#include "serve/open_loop.h"
#include "timing/rounds.h"

extern "C" {
#include "dispatch/dispatch.h"
}

static constexpr Shape shape = {strategic, 1, 2048, 4096, 32000};
static constexpr double slice_seconds = 1;
static constexpr std::size_t slices = 30;                 // per layer
static constexpr std::size_t ring = std::size_t{1} << 20; // ids before they repeat
static constexpr std::size_t settling_calls = 400;        // per kind

static constexpr struct {
    const char *name;
    std::size_t batch, seq;
    double period; // seconds
} kinds[] = {
    {"decode_b64", 64, 1, 1e-3},
    {"prefill_s512", 1, 512, 25e-3},
    {"prefill_s2048", 1, 2048, 30e-3},
};

static constexpr const char *layers[] = {"tuning", "settled", "fixed"};

// Latencies for one kind of ids, by layer and by kind of request.
struct Service {
    Ids ids;
    std::vector<std::vector<Latencies>> latencies{};
};

static Service services[] = {{Ids::zipf}, {Ids::text}};

static void measure(Service &service)
{
    inlay_dispatch_use(isas().front().kernels);
    const Fixture fixture(shape);
    const std::vector<std::int32_t> ids = make_ids(service.ids, shape.vocab, ring);
    std::size_t next = 0;
    const auto embed = [&](const inlay_layer *layer, std::size_t kind) {
        const std::size_t n = kinds[kind].batch * kinds[kind].seq;
        next = next + n > ring ? 0 : next;
        const std::int64_t start = kinds[kind].seq == 1 ? 1000 : 0; // decoding is within the cached positions
        const inlay_batch batch = inlay_batch_i32(&ids[next], kinds[kind].batch, kinds[kind].seq, start);
        next += n;
        require(inlay_forward(layer, &batch, fixture.out, fixture.row_bytes, nullptr, nullptr));
        benchmark::DoNotOptimize(limit_loops().sum(fixture.out, n * shape.dim));
    };
    const Change tunes = [](const Fixture &, inlay_layer_spec &) {};
    const Layer settled = fixture.make_layer(tunes);
    const Layer fixed =
        fixture.make_layer([](const Fixture &, inlay_layer_spec &spec) { spec.self_tuning = INLAY_SELF_TUNING_OFF; });
    for (std::size_t call = 0; call < settling_calls; call++)
        for (std::size_t kind = 0; kind < std::size(kinds); kind++)
            embed(settled.get(), kind);

    std::vector<double> periods;
    for (const auto &kind : kinds)
        periods.push_back(kind.period);
    const std::vector<Request> requests = requests_of(periods, slice_seconds);
    service.latencies.assign(std::size(layers), std::vector<Latencies>(std::size(kinds)));
    const Layer tuning = fixture.make_layer(tunes);
    const Layer *const in_turn[] = {&tuning, &settled, &fixed};
    for (std::size_t slice = 0; slice < slices; slice++)
        for (std::size_t i = 0; i < std::size(layers); i++)
            run_open_loop(
                requests, [] { return now(CLOCK_MONOTONIC); },
                [&](std::size_t kind) { embed(in_turn[i]->get(), kind); }, service.latencies[i]);
}

static void run(benchmark::State &row, Service &service, std::size_t layer, std::size_t kind)
{
    if (service.latencies.empty())
        measure(service);
    const Latencies &measured = service.latencies[layer][kind];
    for (auto _ : row)
        row.SetIterationTime(percentile(measured.total, 0.5));
    row.counters["seconds_minimum"] = *std::min_element(measured.total.begin(), measured.total.end());
    row.counters["seconds_p99"] = percentile(measured.total, 0.99);
    row.counters["seconds_p99_9"] = percentile(measured.total, 0.999);
    row.SetBytesProcessed(
        static_cast<std::int64_t>(3 * kinds[kind].batch * kinds[kind].seq * shape.dim * sizeof(float)));
}

bool register_serve(const ChoosesRow &chosen)
{
    bool any = false;
    for (std::size_t layer = 0; fits(shape) && layer < std::size(layers); layer++)
        for (Service &service : services)
            for (std::size_t kind = 0; kind < std::size(kinds); kind++) {
                const std::string row = std::string("serve_") + layers[layer] + "/" + isas().front().name + "/" +
                                        kinds[kind].name + name_of(service.ids);
                if (!chosen(row) || (service.ids == Ids::text && !has_text()))
                    continue;
                any = true;
                benchmark::RegisterBenchmark(row.c_str(), run, std::ref(service), layer, kind)
                    ->Iterations(1)
                    ->UseManualTime();
            }
    return any;
}

void print_serve()
{
    static constexpr struct {
        const char *name;
        double share;
    } shares[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};
    Grid grid;
    for (const Service &service : services)
        for (std::size_t kind = 0; !service.latencies.empty() && kind < std::size(kinds); kind++)
            for (std::size_t layer = 0; layer < std::size(layers); layer++) {
                const Latencies &of = service.latencies[layer][kind];
                const std::string line = kinds[kind].name + name_of(service.ids) + ", " + layers[layer];
                grid.set(line, "requests", static_cast<double>(of.total.size()), 0);
                for (const auto &[name, share] : shares)
                    grid.set(line, name, 1e6 * percentile(of.total, share), 1);
                for (const auto &[name, share] : shares)
                    grid.set(line, std::string("work ") + name, 1e6 * percentile(of.work, share), 1);
            }
    grid.print("microseconds from the arrival of a request until its output has been read, and of its work alone");
}
