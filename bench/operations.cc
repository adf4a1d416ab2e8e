// SPDX-License-Identifier: MIT
//
// The table of operations on float32 tables, and how each is called. The functions run while the clock does: they do
// nothing but their calls, and check that every call of the library succeeds.
#include "operations.h"

#include <cstring>

template <inlay_layer *Fixture::*layer, inlay_batch Fixture::*batch = &Fixture::batch>
static void embed(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_forward(f.*layer, &(f.*batch), out, f.row_bytes, executor, nullptr));
}

static void gather(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_gather(&f.tokens, f.ids, INLAY_ID_I32, f.rows, 1, out, f.row_bytes, executor, nullptr));
}

// In place again and again: a factor of another magnitude than 1 would soon make all values infinite or subnormal.
static void scale(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_scale(out, f.row_bytes, f.rows, f.shape.dim, -1, out, f.row_bytes, executor));
}

static void add_positions(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_add_positions(out, f.row_bytes, f.shape.batch, f.shape.seq, &f.positions, 0, executor, nullptr));
}

static void sinusoid(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_sinusoid_rows(f.sinusoid, 0, f.rows, INLAY_F32, out, f.row_bytes, executor));
}

void read_output(const Fixture &f, const inlay_executor *executor)
{
    share(executor, f.rows, [&](std::size_t first, std::size_t n) {
        benchmark::DoNotOptimize(limit_loops().sum(f.out + first * f.shape.dim, n * f.shape.dim));
    });
}

// Appends the layer that most programs use, and the choice of its stores: beside layers of the same table whose spec
// says how to store.
static void add_embed(std::vector<Operation> &all)
{
    static constexpr unsigned tokens = prompts | growing | decoding | drawn;
    for (const auto &[how, suffix, traits, passes] : deliveries) {
        const auto copies = in_modes(std::string("copy") + suffix, modes_of(how));
        const bool reused = how == Delivery::reused, read = how == Delivery::read;
        all.push_back({Role::kernel, std::string("embed") + suffix, tokens, traits, passes, copies,
                       reused ? in_modes("streams", all_modes()) : std::vector<std::string>(),
                       deliver(how, embed<&Fixture::caching>), read ? nullptr : &Fixture::caching});
        const std::string name = std::string("stores") + (reused ? "_call" : suffix);
        const unsigned threads = read ? unsigned{parallel} : 0;
        all.push_back({Role::kernel,
                       name,
                       forced,
                       threads,
                       passes,
                       {name + "_cached", name + "_nt"},
                       {},
                       deliver(how, embed<&Fixture::caching>)});
        all.push_back({Role::limit,
                       name + "_cached",
                       forced,
                       threads,
                       passes,
                       {},
                       {},
                       deliver(how, embed<&Fixture::cached_stores>)});
        all.push_back({Role::limit,
                       name + "_nt",
                       forced,
                       threads,
                       passes,
                       {},
                       {},
                       deliver(how, embed<&Fixture::non_temporal_stores>)});
    }
}

static void add_plain_operations(std::vector<Operation> &all)
{
    // The loops that copy rows are the limits of whatever reads token rows and writes as many floats.
    const auto copies = in_modes("copy", all_modes()), streams = in_modes("streams", all_modes());
    const auto starts = in_modes("two_rows", all_modes());
    const std::vector<std::string> rewrites = {"rewrite", "rewrite_nt"}, fills = {"fill", "fill_nt"};
    auto positions = in_modes("rewrite_positions", all_modes());
    positions.push_back("rewrite_positions_runs");
    add_embed(all);
    const std::initializer_list<Operation> others = {
        {Role::kernel, "embed_starts", decoding, 0, 2, copies, starts,
         reuse(embed<&Fixture::caching, &Fixture::different_starts>)},
        {Role::kernel,
         "embed_computed",
         prompts,
         computes | parallel,
         2,
         copies,
         {},
         reuse(embed<&Fixture::computing>),
         &Fixture::computing},
        {Role::kernel, "embed_norm", prompts, 0, 2, copies, streams, reuse(embed<&Fixture::normed>)},
        {Role::kernel, "gather", prompts | decoding, 0, 2, copies, {}, reuse(gather)},
        {Role::kernel, "scale", prompts, 0, 2, rewrites, {}, reuse(scale)},
        {Role::kernel, "add_positions", prompts, 0, 2, rewrites, positions, reuse(add_positions)},
        {Role::kernel, "sinusoid", tables, computes | parallel, 1, fills, {}, reuse(sinusoid)},
    };
    all.insert(all.end(), others);
}

static std::vector<Operation> make_operations()
{
    std::vector<Operation> all;
    add_plain_operations(all);
    add_plain_limits(all);
    add_compact_operations(all);
    add_small_operations(all);
    add_ngram_operations(all);
    return all;
}

const std::vector<Operation> &operations()
{
    static const std::vector<Operation> all = make_operations();
    return all;
}

bool measured(const Operation &operation, const Shape &shape, std::size_t threads, const std::string &isa)
{
    if (!operation.run || !(operation.series & shape.series))
        return false;
    if (operation.traits & copies && shape.type != shape.out_type)
        return false;
    if (operation.traits & large && shape.batch * shape.seq * shape.dim * sizeof(float) < large_bytes)
        return false;
    if (threads > 1 && (!shape.threads || !(operation.traits & parallel)))
        return false;
    if (isa != "scalar" && isa != "portable")
        return true;
    // These two are not meant to be fast, one defines results and one runs anywhere: a few rows are enough.
    const std::size_t pairs = shape.seq * ((shape.dim + 1) / 2);
    return threads == 1 && !(shape.series & (growing | compact | small | drawn | hashed)) &&
           !(operation.traits & large) && (isa != "scalar" || !(operation.traits & computes) || pairs <= scalar_pairs);
}

std::optional<Stores> stores_of_limits(const Operation &operation, const Fixture &fixture)
{
    if (!operation.layer)
        return {};
    char plan[INLAY_PLAN_TEXT_BYTES];
    require(inlay_forward_explain(fixture.*operation.layer, &fixture.batch, fixture.out, fixture.row_bytes, nullptr,
                                  nullptr, plan, sizeof plan));
    return std::strstr(plan, "\nstores:    non-temporal") ? Stores::non_temporal : Stores::cached;
}

std::int64_t bytes_moved(const Operation &operation, const Shape &shape)
{
    if (shape.series == hashed) {
        const std::size_t read = inlay_table_row_bytes(shape.type, shape.dim) + scale_bytes(shape);
        const std::size_t rows = shape.seq * shape.columns;
        return static_cast<std::int64_t>(operation.passes * rows * (read + shape.dim * out_bytes(shape)));
    }
    return static_cast<std::int64_t>(operation.passes * shape.batch * shape.seq * shape.dim * sizeof(float));
}
