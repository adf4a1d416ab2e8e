// SPDX-License-Identifier: MIT
//
// Calls to the bare loops in limits/: their arrays, modes and names.
#include "operations/operations.h"

#include <algorithm>
#include <cstring>

static Modes make_modes(bool with_non_temporal)
{
    static const struct {
        const char *name;
        Prefetch prefetch;
        std::size_t rows;
    } prefetches[] = {
        {"", Prefetch::none, 0},
        {"_t1_line_ahead2", Prefetch::t1_line_ahead, 2},
        {"_t1_line_ahead8", Prefetch::t1_line_ahead, 8},
        {"_t0_line_ahead2", Prefetch::t0_line_ahead, 2},
        {"_t1_ahead", Prefetch::t1_ahead, 16},
        {"_t1_blocks", Prefetch::t1_blocks, 64},
    };
    Modes modes;
    for (const auto &[name, prefetch, rows] : prefetches) {
        modes.push_back({name, {prefetch, rows, Stores::cached}});
        if (with_non_temporal)
            modes.push_back({std::string("_nt") + name, {prefetch, rows, Stores::non_temporal}});
    }
    return modes;
}

const Modes &all_modes()
{
    static const Modes modes = make_modes(true);
    return modes;
}

const Modes &prefetching_modes()
{
    static const Modes modes(all_modes().begin() + 2, all_modes().end());
    return modes;
}

const Modes &cached_modes()
{
    static const Modes modes = make_modes(false);
    return modes;
}

const Modes &modes_of(Delivery how)
{
    static const Modes few(all_modes().begin(), all_modes().begin() + 4);
    return how == Delivery::fresh_4k || how == Delivery::fresh_2m ? few : all_modes();
}

std::vector<std::string> in_modes(const std::string &name, const Modes &modes)
{
    std::vector<std::string> names;
    for (const NamedMode &mode : modes)
        names.push_back(name + mode.suffix);
    return names;
}

static BareRows part_of(BareRows rows, std::size_t first, std::size_t n)
{
    rows.ids += first;
    rows.rows = n;
    if (rows.places)
        rows.places += first;
    else
        rows.out += first * rows.dim;
    return rows;
}

void add_limits(std::vector<Operation> &all, const std::string &name, unsigned series, unsigned traits, unsigned passes,
                const Modes &modes, const BareCall &call, Delivery how)
{
    for (const auto &[suffix, mode] : modes) {
        const auto move = [call, mode = mode, traits](const Fixture &f, float *out, const inlay_executor *executor) {
            const LimitLoops &loops = traits & per_isa ? limit_loops_of(inlay_isa()) : limit_loops();
            BareRows rows = call(f);
            rows.out = out;
            share(executor, rows.rows,
                  [&](std::size_t first, std::size_t n) { loops.move(part_of(rows, first, n), mode); });
        };
        const bool runs = limit_loops().non_temporal || mode.stores == Stores::cached;
        const auto run = runs ? deliver(how, move) : Operation::Run();
        all.push_back({Role::limit, name + suffix, series, traits, passes, {}, {}, run, {}, mode.stores});
    }
}

static const unsigned char *bytes_of(const float *floats)
{
    return reinterpret_cast<const unsigned char *>(floats);
}

static BareRows token_rows(const Fixture &f)
{
    return {f.out, f.shape.dim, f.rows, f.ids, bytes_of(f.table), f.row_bytes};
}

static BareRows visited_rows(const Fixture &f, const Visits &visits)
{
    BareRows rows = token_rows(f);
    rows.ids = visits.ids.data();
    rows.places = visits.places.data();
    rows.positions = f.learned;
    return rows;
}

BareRows streams_of(const Fixture &f)
{
    return visited_rows(f, f.tiled);
}

// The output itself, and the position rows that sequences share.
static BareRows output_streams(const Fixture &f)
{
    BareRows rows = streams_of(f);
    rows.table = bytes_of(f.out);
    rows.ids = f.tiled_outputs.data();
    return rows;
}

// Token rows, each added to the output row of its sequence: a pooled call.
static BareRows pooled_streams(const Fixture &f)
{
    BareRows rows = visited_rows(f, f.pooled);
    rows.positions = f.out;
    return rows;
}

static void copy(const Fixture &f, float *out, const inlay_executor *executor)
{
    share(executor, f.rows, [&](std::size_t first, std::size_t n) {
        for (std::size_t i = first; i < first + n; i++)
            std::memcpy(out + i * f.shape.dim, f.table + static_cast<std::size_t>(f.ids[i]) * f.shape.dim, f.row_bytes);
    });
}

static void rewrite(const Fixture &f, float *out, const inlay_executor *)
{
    limit_loops().scale(out, f.rows * f.row_bytes / sizeof(float), -1); // any bits change, if not floats
}

static void rewrite_nt(const Fixture &f, float *out, const inlay_executor *)
{
    limit_loops().scale_nt(out, f.rows * f.shape.dim, -1);
}

// Adds positions to all sequences in place, in runs of rows of half the L2 of most CPUs: the hardware prefetches long
// runs.
static void rewrite_runs(const Fixture &f, float *out, const inlay_executor *)
{
    static constexpr std::size_t run_bytes = 512 << 10;
    const std::size_t run = std::max<std::size_t>(1, run_bytes / f.row_bytes), dim = f.shape.dim;
    for (std::size_t s = 0; s < f.shape.seq; s += run)
        for (std::size_t b = 0; b < f.shape.batch; b++) {
            float *x = out + (b * f.shape.seq + s) * dim;
            limit_loops().add(x, x, f.learned + s * dim, std::min(run, f.shape.seq - s) * dim);
        }
}

static void fill(const Fixture &f, float *out, const inlay_executor *executor)
{
    share(executor, f.rows,
          [&](std::size_t first, std::size_t n) { std::memset(out + first * f.shape.dim, 1, n * f.row_bytes); });
}

static void fill_nt(const Fixture &f, float *out, const inlay_executor *executor)
{
    share(executor, f.rows,
          [&](std::size_t first, std::size_t n) { limit_loops().fill_nt(out + first * f.shape.dim, n * f.shape.dim); });
}

void add_plain_limits(std::vector<Operation> &all)
{
    static constexpr unsigned tokens = prompts | growing | decoding | drawn;
    const auto if_nt = [](auto call) { return limit_loops().non_temporal ? reuse(call) : Operation::Run(); };
    // memcpy is a loop without prefetching, and faster than ours: it moves long rows with a string instruction.
    for (const auto &[how, suffix, traits, passes] : deliveries) {
        const std::string name = std::string("copy") + suffix;
        const Modes loops(modes_of(how).begin() + 1, modes_of(how).end());
        all.push_back({Role::limit, name, tokens, traits, passes, {}, {}, deliver(how, copy), {}, Stores::cached});
        add_limits(all, name, tokens, traits, passes, loops, token_rows, how);
    }
    add_limits(all, "streams", tokens | encoding, 0, 2, all_modes(), streams_of);
    add_limits(all, "add_rows", prompts | encoding, 0, 1, cached_modes(), pooled_streams);
    // Token rows, each with its own position row.
    add_limits(all, "two_rows", decoding, 0, 2, all_modes(),
               [](const Fixture &f) { return visited_rows(f, f.separate); });
    all.push_back({Role::limit, "rewrite", prompts | rotating, 0, 2, {}, {}, reuse(rewrite)});
    all.push_back({Role::limit, "rewrite_nt", prompts, 0, 2, {}, {}, if_nt(rewrite_nt)});
    add_limits(all, "rewrite_positions", prompts, 0, 2, all_modes(), output_streams);
    all.push_back({Role::limit, "rewrite_positions_runs", prompts, 0, 2, {}, {}, reuse(rewrite_runs)});
    all.push_back({Role::limit, "fill", tables, parallel, 1, {}, {}, reuse(fill)});
    all.push_back({Role::limit, "fill_nt", tables, parallel, 1, {}, {}, if_nt(fill_nt)});
}
