// SPDX-License-Identifier: MIT
//
// The table of operations on float32 tables, and how each is called. The functions run while the clock does: they do
// nothing but their calls, and check that every call of the library succeeds.
#include "operations.h"

static void forward(const Fixture &f, const inlay_layer *layer, const inlay_batch &batch,
                    const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] { require(inlay_forward(layer, &batch, f.out, f.row_bytes, executor, nullptr)); });
}

static void embed_cached(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    forward(f, f.caching, f.batch, executor, calls);
}

// As a caller does who allocates and frees an output for each call.
template <PageSize size> static void embed_fresh(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] {
        const FreshPages out(f.rows * f.row_bytes, size);
        require(inlay_forward(f.caching, &f.batch, out.begin(), f.row_bytes, executor, nullptr));
    });
}

static void embed_starts(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    forward(f, f.caching, f.different_starts, executor, calls);
}

static void embed_computing(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    forward(f, f.computing, f.batch, executor, calls);
}

static void embed_norm(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    forward(f, f.normed, f.batch, executor, calls);
}

static void gather(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] {
        require(inlay_gather(&f.tokens, f.ids, INLAY_ID_I32, f.rows, 1, f.out, f.row_bytes, executor, nullptr));
    });
}

// In place again and again: a factor of another magnitude than 1 would soon make all values infinite or subnormal.
static void scale(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls,
           [&] { require(inlay_scale(f.out, f.row_bytes, f.rows, f.shape.dim, -1, f.out, f.row_bytes, executor)); });
}

static void add_positions(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] {
        require(
            inlay_add_positions(f.out, f.row_bytes, f.shape.batch, f.shape.seq, &f.positions, 0, executor, nullptr));
    });
}

static void sinusoid(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls,
           [&] { require(inlay_sinusoid_rows(f.sinusoid, 0, f.rows, INLAY_F32, f.out, f.row_bytes, executor)); });
}

static std::vector<Operation> plain_operations()
{
    static constexpr unsigned tokens = prompts | growing | decoding | drawn;
    // The loops that copy rows are the limits of whatever reads token rows and writes as many floats.
    const auto copies = in_modes("copy", all_modes()), streams = in_modes("streams", all_modes());
    const auto starts = in_modes("two_rows", all_modes());
    const std::vector<std::string> rewrites = {"rewrite", "rewrite_nt"}, fills = {"fill", "fill_nt"};
    auto positions = in_modes("rewrite_positions", all_modes());
    positions.push_back("rewrite_positions_runs");
    return {
        {Role::kernel, "embed", tokens, fused | parallel, 2, copies, streams, embed_cached},
        {Role::kernel, "embed_fresh_2m", fresh, 0, 2, {}, {}, embed_fresh<huge_pages>},
        {Role::kernel, "embed_fresh_4k", fresh, 0, 2, {}, {}, embed_fresh<small_pages>},
        {Role::kernel, "embed_starts", decoding, fused, 2, copies, starts, embed_starts},
        {Role::kernel, "embed_computed", prompts, fused | computes | parallel, 2, copies, {}, embed_computing},
        {Role::kernel, "embed_norm", prompts, fused, 2, copies, streams, embed_norm},
        {Role::kernel, "gather", prompts | decoding, 0, 2, copies, {}, gather},
        {Role::kernel, "scale", prompts, 0, 2, rewrites, {}, scale},
        {Role::kernel, "add_positions", prompts, 0, 2, rewrites, positions, add_positions},
        {Role::kernel, "sinusoid", tables, computes | parallel, 1, fills, {}, sinusoid},
    };
}

static std::vector<Operation> make_operations()
{
    std::vector<Operation> all = plain_operations();
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
    if (threads > 1 && (!shape.threads || !(operation.traits & parallel)))
        return false;
    if (isa != "scalar" && isa != "portable")
        return true;
    // These two are not meant to be fast, one defines results and one runs anywhere: a few rows are enough.
    const std::size_t pairs = shape.seq * ((shape.dim + 1) / 2);
    return threads == 1 && !(shape.series & (growing | compact | small | drawn | fresh | hashed)) &&
           (isa != "scalar" || !(operation.traits & computes) || pairs <= scalar_pairs);
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
