// SPDX-License-Identifier: MIT
//
// The table of operations and limits, and how each is called. The functions run while the clock does: they do nothing
// but their calls, and check that every call of the library succeeds.
#include "operations.h"

#include "limits.h"

#include <benchmark/benchmark.h>
#include <cstring>

// Makes `calls` calls, none of which the compiler may optimise away.
template <class Call> static void repeat(std::size_t calls, Call call)
{
    for (; calls; calls--) {
        call();
        benchmark::ClobberMemory();
    }
}

static void forward(const Fixture &f, const inlay_layer *layer, const inlay_batch &batch,
                    const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] { require(inlay_forward(layer, &batch, f.out, f.row_bytes, executor, nullptr)); });
}

static void embed_cached(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    forward(f, f.caching, f.batch, executor, calls);
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

static void copy_rows(const Fixture &f, std::size_t first, std::size_t n)
{
    for (std::size_t i = first; i < first + n; i++)
        std::memcpy(f.out + i * f.shape.dim, f.table + static_cast<std::size_t>(f.ids[i]) * f.shape.dim, f.row_bytes);
}

static void copy(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] { share(executor, f.rows, [&](std::size_t first, std::size_t n) { copy_rows(f, first, n); }); });
}

static void copy_nt(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    const auto part = [&](std::size_t first, std::size_t n) {
        limit_loops().copy_nt(f.out + first * f.shape.dim, f.table, f.ids + first, n, f.shape.dim);
    };
    repeat(calls, [&] { share(executor, f.rows, part); });
}

// Moves the same bytes with rows prefetched, which is fastest where they come from memory.
static void copy_nt_prefetched(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    const auto *table = reinterpret_cast<const unsigned char *>(f.table);
    const auto part = [&](std::size_t first, std::size_t n) {
        limit_loops().expand_nt(f.out + first * f.shape.dim, table, f.row_bytes, f.ids + first, n, f.shape.dim);
    };
    repeat(calls, [&] { share(executor, f.rows, part); });
}

// The lower bound for sequences of one token with different positions: a position row is read for each.
static void two_rows(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    const std::size_t dim = f.shape.dim;
    repeat(calls, [&] {
        for (std::size_t i = 0; i < f.rows; i++)
            limit_loops().add(f.out + i * dim, f.table + static_cast<std::size_t>(f.ids[i]) * dim,
                              f.learned + static_cast<std::size_t>(f.different_starts.starts[i]) * dim, dim);
    });
}

static void rewrite(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    repeat(calls, [&] { limit_loops().scale(f.out, f.rows * f.shape.dim, -1); });
}

// Adds positions to one sequence in place.
static void add_sequence(const Fixture &f, std::size_t b)
{
    const std::size_t n = f.shape.seq * f.shape.dim;
    float *x = f.out + b * n;
    limit_loops().add(x, x, f.learned, n);
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

template <inlay_element_type type>
static void embed_quantised(const Fixture &f, const inlay_executor *executor, std::size_t calls)
{
    forward(f, f.quantised[type].caching, f.batch, executor, calls);
}

// The limit of a layer over a quantised table: reads the bytes of its rows and writes as many floats.
template <inlay_element_type type> static void expand_nt(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    const inlay_table &tokens = f.quantised[type].tokens;
    const auto *table = static_cast<const unsigned char *>(tokens.data);
    repeat(calls, [&] { limit_loops().expand_nt(f.out, table, tokens.stride_bytes, f.ids, f.rows, f.shape.dim); });
}

// The three passes over an int8 table, the quantised type whose plain loop is fastest.
static void three_passes_i8(const Fixture &f, const inlay_executor *, std::size_t calls)
{
    const std::size_t dim = f.shape.dim;
    const auto *table = static_cast<const std::int8_t *>(f.quantised[INLAY_I8].tokens.data);
    const auto *scales = static_cast<const float *>(f.quantised[INLAY_I8].tokens.scales);
    repeat(calls, [&] {
        for (std::size_t i = 0; i < f.rows; i++) {
            const std::int8_t *row = table + static_cast<std::size_t>(f.ids[i]) * dim;
            const float step = scales[f.ids[i]];
            float *out = f.out + i * dim;
            for (std::size_t column = 0; column < dim; column++)
                out[column] = row[column] * step;
        }
        limit_loops().scale(f.out, f.rows * dim, f.scale);
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

// The loops that copy rows: the limits of whatever reads token rows and writes as many floats.
static constexpr Limits copies = {"copy", "copy_nt", "copy_nt_ahead"};

static const bool streams = limit_loops().copy_nt != nullptr;

static std::vector<Operation> plain_operations()
{
    static constexpr unsigned tokens = prompts | growing | decoding;
    return {
        {Role::kernel, "embed", tokens, fused | parallel, 2, copies, embed_cached},
        {Role::kernel, "embed_starts", decoding, fused, 2, copies, embed_starts},
        {Role::kernel, "embed_computed", prompts, fused | computes | parallel, 2, copies, embed_computing},
        {Role::kernel, "embed_norm", prompts, fused, 2, copies, embed_norm},
        {Role::kernel, "gather", prompts | decoding, 0, 2, copies, gather},
        {Role::kernel, "scale", prompts, 0, 2, {"rewrite"}, scale},
        {Role::kernel, "add_positions", prompts, 0, 2, {"rewrite"}, add_positions},
        {Role::kernel, "sinusoid", tables, computes | parallel, 1, {"fill", "fill_nt"}, sinusoid},
        {Role::limit, "copy", tokens, parallel, 2, {}, copy},
        {Role::limit, "copy_nt", tokens, parallel, 2, {}, streams ? copy_nt : nullptr},
        {Role::limit, "copy_nt_ahead", tokens, parallel, 2, {}, streams ? copy_nt_prefetched : nullptr},
        {Role::limit, "two_rows", decoding, 0, 2, {}, two_rows},
        {Role::limit, "rewrite", prompts, 0, 2, {}, rewrite},
        {Role::limit, "three_passes", prompts | decoding, 0, 2, {}, three_passes},
        {Role::limit, "three_passes_i8", compact, 0, 1, {}, three_passes_i8},
        {Role::limit, "fill", tables, parallel, 1, {}, fill},
        {Role::limit, "fill_nt", tables, parallel, 1, {}, streams ? fill_nt : nullptr},
    };
}

// Adds the layer over a table of that type, and its limit.
template <inlay_element_type type>
static void add_quantised(std::vector<Operation> &all, const char *kernel, const char *limit)
{
    all.push_back({Role::kernel, kernel, compact, fused, 1, {limit}, embed_quantised<type>});
    all.push_back({Role::limit, limit, compact, 0, 1, {}, streams ? expand_nt<type> : nullptr});
}

static std::vector<Operation> make_operations()
{
    std::vector<Operation> all = plain_operations();
    add_quantised<INLAY_F16>(all, "embed_f16", "expand_nt_f16");
    add_quantised<INLAY_BF16>(all, "embed_bf16", "expand_nt_bf16");
    add_quantised<INLAY_I8>(all, "embed_i8", "expand_nt_i8");
    add_quantised<INLAY_I8_INVERSE>(all, "embed_i8_inverse", "expand_nt_i8_inverse");
    add_quantised<INLAY_U8_ROWWISE>(all, "embed_u8_rowwise", "expand_nt_u8_rowwise");
    add_quantised<INLAY_U4_ROWWISE>(all, "embed_u4_rowwise", "expand_nt_u4_rowwise");
    add_quantised<INLAY_U4_GROUPED>(all, "embed_u4_grouped", "expand_nt_u4_grouped");
    add_quantised<INLAY_Q8_0>(all, "embed_q8_0", "expand_nt_q8_0");
    add_quantised<INLAY_Q4_0>(all, "embed_q4_0", "expand_nt_q4_0");
    add_quantised<INLAY_U4_GROUPED_FLAT>(all, "embed_u4_grouped_flat", "expand_nt_u4_grouped_flat");
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
    if (threads > 1 && (!shape.threads || !(operation.traits & parallel)))
        return false;
    if (isa != "scalar")
        return true;
    // Scalar defines results and is not meant to be fast: a few rows are enough.
    const std::size_t pairs = shape.seq * ((shape.dim + 1) / 2);
    return threads == 1 && shape.series != growing && shape.series != compact &&
           (!(operation.traits & computes) || pairs <= scalar_pairs);
}

std::int64_t bytes_moved(const Operation &operation, const Shape &shape)
{
    return static_cast<std::int64_t>(operation.passes * shape.batch * shape.seq * shape.dim * sizeof(float));
}
