// SPDX-License-Identifier: MIT
//
// The limits: what each bare loop is called with, and the separate passes that a fused one replaces.
#include "operations.h"

#include <algorithm>
#include <cstring>

static constexpr Mode nt(Prefetch prefetch)
{
    return {prefetch, Stores::non_temporal};
}

static constexpr Mode cached(Prefetch prefetch)
{
    return {prefetch, Stores::cached};
}

const Modes &all_modes()
{
    static const Modes modes = {
        {"", cached(Prefetch::none)},
        {"_nt", nt(Prefetch::none)},
        {"_nt_ahead", nt(Prefetch::t0_ahead)},
        {"_nt_t1_lines", nt(Prefetch::t1_lines)},
        {"_t1_ahead", cached(Prefetch::t1_ahead)},
        {"_nt_t1_ahead", nt(Prefetch::t1_ahead)},
        {"_t1_blocks", cached(Prefetch::t1_blocks)},
        {"_nt_t1_blocks", nt(Prefetch::t1_blocks)},
    };
    return modes;
}

const Modes &prefetching_modes()
{
    static const Modes modes(all_modes().begin() + 2, all_modes().end());
    return modes;
}

std::vector<std::string> in_modes(const std::string &name, const Modes &modes)
{
    std::vector<std::string> names;
    for (const NamedMode &mode : modes)
        names.push_back(name + mode.suffix);
    return names;
}

// Calls part(first, n) for all of [0, rows) on this thread, or for equal shares on the threads of the executor.
template <class Part> static void share(const inlay_executor *executor, std::size_t rows, Part part)
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
                const Modes &modes, BareCall call)
{
    for (const auto &[suffix, mode] : modes) {
        const auto run = [call, mode = mode](const Fixture &f, const inlay_executor *executor, std::size_t calls) {
            repeat(calls, [&] {
                const BareRows rows = call(f);
                share(executor, rows.rows,
                      [&](std::size_t first, std::size_t n) { limit_loops().move(part_of(rows, first, n), mode); });
            });
        };
        const bool runs = limit_loops().non_temporal || mode.stores == Stores::cached;
        all.push_back({Role::limit, name + suffix, series, traits, passes, {}, {}, runs ? run : Operation::Run()});
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

// Token rows and the position rows that sequences share.
static BareRows tiled_streams(const Fixture &f)
{
    return visited_rows(f, f.tiled);
}

// Token rows and a position row for each.
static BareRows separate_streams(const Fixture &f)
{
    return visited_rows(f, f.separate);
}

// The output itself and the position rows that sequences share.
static BareRows output_streams(const Fixture &f)
{
    BareRows rows = visited_rows(f, f.tiled);
    rows.table = bytes_of(f.out);
    rows.ids = f.tiled_outputs.data();
    return rows;
}

static void copy_rows(const Fixture &f, std::size_t first, std::size_t n)
{
    for (std::size_t i = first; i < first + n; i++)
        std::memcpy(f.out + i * f.shape.dim, f.table + static_cast<std::size_t>(f.ids[i]) * f.shape.dim, f.row_bytes);
}

static void copy(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] { share(executor, f.rows, [&](std::size_t first, std::size_t n) { copy_rows(f, first, n); }); });
}

static void rewrite(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    repeat(calls, [&] { limit_loops().scale(f.out, f.rows * f.shape.dim, -1); });
}

static void rewrite_nt(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    repeat(calls, [&] { limit_loops().scale_nt(f.out, f.rows * f.shape.dim, -1); });
}

// Adds positions to one sequence in place.
static void add_sequence(const Fixture &f, std::size_t b)
{
    const std::size_t n = f.shape.seq * f.shape.dim;
    float *x = f.out + b * n;
    limit_loops().add(x, x, f.learned, n);
}

// The same for all sequences, in runs of rows that take half of the L2 of most CPUs: the hardware prefetches long runs.
static void rewrite_runs(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    static constexpr std::size_t run_bytes = 512 << 10;
    const std::size_t run = std::max<std::size_t>(1, run_bytes / f.row_bytes), dim = f.shape.dim;
    repeat(calls, [&] {
        for (std::size_t s = 0; s < f.shape.seq; s += run)
            for (std::size_t b = 0; b < f.shape.batch; b++) {
                float *x = f.out + (b * f.shape.seq + s) * dim;
                limit_loops().add(x, x, f.learned + s * dim, std::min(run, f.shape.seq - s) * dim);
            }
    });
}

// What frameworks without fusion do: three passes over the whole activation, each with cached stores.
static void three_passes(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    repeat(calls, [&] {
        copy_rows(f, 0, f.rows);
        limit_loops().scale(f.out, f.rows * f.shape.dim, f.scale);
        for (std::size_t b = 0; b < f.shape.batch; b++)
            add_sequence(f, b);
    });
}

static void fill(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    const auto part = [&](std::size_t first, std::size_t n) {
        std::memset(f.out + first * f.shape.dim, 1, n * f.row_bytes);
    };
    repeat(calls, [&] { share(executor, f.rows, part); });
}

static void fill_nt(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    const auto part = [&](std::size_t first, std::size_t n) {
        limit_loops().fill_nt(f.out + first * f.shape.dim, n * f.shape.dim);
    };
    repeat(calls, [&] { share(executor, f.rows, part); });
}

void add_plain_limits(std::vector<Operation> &all)
{
    static constexpr unsigned tokens = prompts | growing | decoding | drawn;
    const auto if_nt = [](Operation::Run run) { return limit_loops().non_temporal ? run : Operation::Run(); };
    // memcpy is a loop without prefetching, and better than ours: it moves long rows by a string instruction.
    all.push_back({Role::limit, "copy", tokens, parallel, 2, {}, {}, copy});
    add_limits(all, "copy", tokens, parallel, 2, Modes(all_modes().begin() + 1, all_modes().end()), token_rows);
    add_limits(all, "streams", tokens, 0, 2, all_modes(), tiled_streams);
    add_limits(all, "two_rows", decoding, 0, 2, all_modes(), separate_streams);
    all.push_back({Role::limit, "rewrite", prompts, 0, 2, {}, {}, rewrite});
    all.push_back({Role::limit, "rewrite_nt", prompts, 0, 2, {}, {}, if_nt(rewrite_nt)});
    add_limits(all, "rewrite_positions", prompts, 0, 2, all_modes(), output_streams);
    all.push_back({Role::limit, "rewrite_positions_runs", prompts, 0, 2, {}, {}, rewrite_runs});
    all.push_back({Role::limit, "three_passes", prompts | decoding, 0, 2, {}, {}, three_passes});
    all.push_back({Role::limit, "fill", tables, parallel, 1, {}, {}, fill});
    all.push_back({Role::limit, "fill_nt", tables, parallel, 1, {}, {}, if_nt(fill_nt)});
}
