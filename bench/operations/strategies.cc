// SPDX-License-Identifier: MIT
//
// How well a layer chooses its strategy. Compares a layer that has made many calls, the first calls of a new layer, and
// one with self-tuning off, with layers whose strategy is fixed. All use the same stores.
#include "operations/operations.h"

static constexpr struct {
    const char *name;
    inlay_prefetch prefetch;
    bool with_sinusoids; // differs from other strategies when sinusoids are computed
} prefetches[] = {
    {"none", INLAY_PREFETCH_NONE, true},
    {"lines", INLAY_PREFETCH_LINES, false},
    {"l1_line_ahead2", INLAY_PREFETCH_L1_LINE_AHEAD_2, true},
    {"l2_line_ahead2", INLAY_PREFETCH_L2_LINE_AHEAD_2, true},
    {"l2_line_ahead8", INLAY_PREFETCH_L2_LINE_AHEAD_8, true},
    {"l2_rows16", INLAY_PREFETCH_L2_ROW_AHEAD_16, false},
    {"l2_blocks", INLAY_PREFETCH_L2_BLOCKS, false},
};

void store_alike(const Fixture &f, inlay_layer_spec &spec)
{
    const bool large = f.rows * f.row_bytes > inlay_tuning_default().stream_bytes;
    spec.stores = large ? INLAY_STORES_STREAMED : INLAY_STORES_CACHED;
}

static void learn_nothing(const Fixture &f, inlay_layer_spec &spec)
{
    store_alike(f, spec);
    spec.self_tuning = INLAY_SELF_TUNING_OFF;
}

static void settle(const Fixture &f)
{
    for (std::size_t call = 0; call < calls_to_settle(f); call++)
        embed(f, f.out, nullptr);
}

void add_strategy_operations(std::vector<Operation> &all)
{
    std::vector<std::string> names;
    const auto run = reuse(embed);
    for (const bool computes : {false, true})
        for (const auto &[name, prefetch, with_sinusoids] : prefetches) {
            if (computes && !with_sinusoids)
                continue;
            inlay_tuning tuning = inlay_tuning_default();
            tuning.prefetch = prefetch;
            tuning.compute_bytes = computes ? 0 : SIZE_MAX;
            const Change obey = [tuning](const Fixture &f, inlay_layer_spec &spec) {
                store_alike(f, spec);
                spec.tuning = &tuning;
            };
            names.push_back(std::string("strategies_") + name + (computes ? "_computed" : ""));
            all.push_back({Role::limit, names.back(), strategic, computes ? unsigned{lone} : 0, 2, {}, {}, run, obey});
        }
    all.push_back({Role::kernel, "strategies", strategic, renews, 2, names, {}, run, store_alike, {}, settle});
    all.push_back(
        {Role::kernel, "strategies_first", strategic, renews | first_calls, 2, {"strategies"}, {}, run, store_alike});
    all.push_back({Role::kernel, "strategies_default", strategic, 0, 2, names, {}, run, learn_nothing});
}
