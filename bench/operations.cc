// SPDX-License-Identifier: MIT
//
// The table of operations and limits, and how each is called. Called by rounds.cc with the clock running:
// a function here does nothing but its calls, and every call of the library is seen to succeed.
#include "operations.h"

#include "limits.h"

#include <benchmark/benchmark.h>
#include <cstring>

// Calls in a row, each of which the compiler must believe to be needed.
template <class Call> static void repeat(std::size_t calls, Call call)
{
    for (; calls; calls--) {
        call();
        benchmark::ClobberMemory();
    }
}

static void forward(const Scene &s, const inlay_layer *layer, const inlay_batch &batch, const inlay_executor *executor,
                    std::size_t calls)
{
    repeat(calls, [&] { require(inlay_forward(layer, &batch, s.out, s.row_bytes, executor, nullptr)); });
}

static void embed_holding(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    forward(s, s.holding, s.batch, executor, calls);
}

static void embed_starts(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    forward(s, s.holding, s.apart, executor, calls);
}

static void embed_computing(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    forward(s, s.computing, s.batch, executor, calls);
}

static void embed_norm(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    forward(s, s.normed, s.batch, executor, calls);
}

static void gather(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] {
        require(inlay_gather(&s.tokens, s.ids, INLAY_ID_I32, s.rows, 1, s.out, s.row_bytes, executor, nullptr));
    });
}

// Repeated in place: any factor but one of magnitude 1 would soon leave nothing but infinities or subnormals.
static void scale(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls,
           [&] { require(inlay_scale(s.out, s.row_bytes, s.rows, s.shape.dim, -1, s.out, s.row_bytes, executor)); });
}

static void add_positions(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] {
        require(
            inlay_add_positions(s.out, s.row_bytes, s.shape.batch, s.shape.seq, &s.positions, 0, executor, nullptr));
    });
}

static void sinusoid(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls,
           [&] { require(inlay_sinusoid_rows(s.sinusoid, 0, s.rows, INLAY_F32, s.out, s.row_bytes, executor)); });
}

// part(first, n) of [0, rows): all of it here, or equal shares side by side.
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

static void copy_rows(const Scene &s, std::size_t first, std::size_t n)
{
    for (std::size_t i = first; i < first + n; i++)
        std::memcpy(s.out + i * s.shape.dim, s.table + static_cast<std::size_t>(s.ids[i]) * s.shape.dim, s.row_bytes);
}

static void copy(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    repeat(calls, [&] { share(executor, s.rows, [&](std::size_t first, std::size_t n) { copy_rows(s, first, n); }); });
}

static void copy_nt(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    const auto part = [&](std::size_t first, std::size_t n) {
        limit_loops().copy_nt(s.out + first * s.shape.dim, s.table, s.ids + first, n, s.shape.dim);
    };
    repeat(calls, [&] { share(executor, s.rows, part); });
}

// As many bytes, with rows asked for ahead, which makes it the fastest where they come from memory.
static void copy_nt_ahead(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    const auto *table = reinterpret_cast<const unsigned char *>(s.table);
    const auto part = [&](std::size_t first, std::size_t n) {
        limit_loops().expand_nt(s.out + first * s.shape.dim, table, s.row_bytes, s.ids + first, n, s.shape.dim);
    };
    repeat(calls, [&] { share(executor, s.rows, part); });
}

// What sequences of one token cost at the least where each has a position of its own: a row more is read for each.
static void two_rows(const Scene &s, const inlay_executor *, std::size_t calls)
{
    const std::size_t dim = s.shape.dim;
    repeat(calls, [&] {
        for (std::size_t i = 0; i < s.rows; i++)
            limit_loops().add(s.out + i * dim, s.table + static_cast<std::size_t>(s.ids[i]) * dim,
                              s.learned + static_cast<std::size_t>(s.apart.starts[i]) * dim, dim);
    });
}

static void rewrite(const Scene &s, const inlay_executor *, std::size_t calls)
{
    repeat(calls, [&] { limit_loops().scale(s.out, s.rows * s.shape.dim, -1); });
}

// Positions onto a sequence, in place.
static void add_sequence(const Scene &s, std::size_t b)
{
    const std::size_t n = s.shape.seq * s.shape.dim;
    float *x = s.out + b * n;
    limit_loops().add(x, x, s.learned, n);
}

// As frameworks do it without fusing: each pass over the whole activation, each through the caches.
static void three_passes(const Scene &s, const inlay_executor *, std::size_t calls)
{
    repeat(calls, [&] {
        copy_rows(s, 0, s.rows);
        limit_loops().scale(s.out, s.rows * s.shape.dim, s.scale);
        for (std::size_t b = 0; b < s.shape.batch; b++)
            add_sequence(s, b);
    });
}

template <inlay_element_type type> static void embed_stored(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    forward(s, s.stored[type].holding, s.batch, executor, calls);
}

// What the layer over a stored table is held against: its bytes read, as many floats written.
template <inlay_element_type type> static void expand_nt(const Scene &s, const inlay_executor *, std::size_t calls)
{
    const inlay_table &tokens = s.stored[type].tokens;
    const auto *table = static_cast<const unsigned char *>(tokens.data);
    repeat(calls, [&] { limit_loops().expand_nt(s.out, table, tokens.stride_bytes, s.ids, s.rows, s.shape.dim); });
}

// The passes that a fused one replaces, over int8, the type whose plain loop is fastest.
static void three_passes_i8(const Scene &s, const inlay_executor *, std::size_t calls)
{
    const std::size_t dim = s.shape.dim;
    const auto *table = static_cast<const std::int8_t *>(s.stored[INLAY_I8].tokens.data);
    const auto *scales = static_cast<const float *>(s.stored[INLAY_I8].tokens.scales);
    repeat(calls, [&] {
        for (std::size_t i = 0; i < s.rows; i++) {
            const std::int8_t *row = table + static_cast<std::size_t>(s.ids[i]) * dim;
            const float step = scales[s.ids[i]];
            float *out = s.out + i * dim;
            for (std::size_t column = 0; column < dim; column++)
                out[column] = row[column] * step;
        }
        limit_loops().scale(s.out, s.rows * dim, s.scale);
        for (std::size_t b = 0; b < s.shape.batch; b++)
            add_sequence(s, b);
    });
}

static void fill(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    const auto part = [&](std::size_t first, std::size_t n) {
        std::memset(s.out + first * s.shape.dim, 1, n * s.row_bytes);
    };
    repeat(calls, [&] { share(executor, s.rows, part); });
}

static void fill_nt(const Scene &s, const inlay_executor *executor, std::size_t calls)
{
    const auto part = [&](std::size_t first, std::size_t n) {
        limit_loops().fill_nt(s.out + first * s.shape.dim, n * s.shape.dim);
    };
    repeat(calls, [&] { share(executor, s.rows, part); });
}

const std::vector<Operation> &operations()
{
    static const bool streams = limit_loops().copy_nt != nullptr;
    static constexpr unsigned tokens = prompts | growing | decoding;
    static const std::vector<Operation> all = {
        {Role::kernel, "embed", tokens, fused | parallel, 2, {"copy", "copy_nt", "copy_nt_ahead"}, embed_holding},
        {Role::kernel, "embed_starts", decoding, fused, 2, {"copy", "copy_nt", "copy_nt_ahead"}, embed_starts},
        {Role::kernel,
         "embed_computed",
         prompts,
         fused | computes | parallel,
         2,
         {"copy", "copy_nt", "copy_nt_ahead"},
         embed_computing},
        {Role::kernel, "embed_norm", prompts, fused, 2, {"copy", "copy_nt", "copy_nt_ahead"}, embed_norm},
        {Role::kernel, "gather", prompts | decoding, 0, 2, {"copy", "copy_nt", "copy_nt_ahead"}, gather},
        {Role::kernel, "scale", prompts, 0, 2, {"rewrite"}, scale},
        {Role::kernel, "add_positions", prompts, 0, 2, {"rewrite"}, add_positions},
        {Role::kernel, "sinusoid", tables, computes | parallel, 1, {"fill", "fill_nt"}, sinusoid},
        {Role::kernel, "embed_f16", compact, fused, 1, {"expand_nt_f16"}, embed_stored<INLAY_F16>},
        {Role::kernel, "embed_bf16", compact, fused, 1, {"expand_nt_bf16"}, embed_stored<INLAY_BF16>},
        {Role::kernel, "embed_i8", compact, fused, 1, {"expand_nt_i8"}, embed_stored<INLAY_I8>},
        {Role::kernel, "embed_i8_inverse", compact, fused, 1, {"expand_nt_i8_inverse"}, embed_stored<INLAY_I8_INVERSE>},
        {Role::kernel, "embed_u8_rowwise", compact, fused, 1, {"expand_nt_u8_rowwise"}, embed_stored<INLAY_U8_ROWWISE>},
        {Role::kernel, "embed_u4_rowwise", compact, fused, 1, {"expand_nt_u4_rowwise"}, embed_stored<INLAY_U4_ROWWISE>},
        {Role::kernel, "embed_u4_grouped", compact, fused, 1, {"expand_nt_u4_grouped"}, embed_stored<INLAY_U4_GROUPED>},
        {Role::kernel, "embed_q8_0", compact, fused, 1, {"expand_nt_q8_0"}, embed_stored<INLAY_Q8_0>},
        {Role::kernel, "embed_q4_0", compact, fused, 1, {"expand_nt_q4_0"}, embed_stored<INLAY_Q4_0>},
        {Role::limit, "copy", tokens, parallel, 2, {}, copy},
        {Role::limit, "copy_nt", tokens, parallel, 2, {}, streams ? copy_nt : nullptr},
        {Role::limit, "copy_nt_ahead", tokens, parallel, 2, {}, streams ? copy_nt_ahead : nullptr},
        {Role::limit, "two_rows", decoding, 0, 2, {}, two_rows},
        {Role::limit, "rewrite", prompts, 0, 2, {}, rewrite},
        {Role::limit, "three_passes", prompts | decoding, 0, 2, {}, three_passes},
        {Role::limit, "expand_nt_f16", compact, 0, 1, {}, streams ? expand_nt<INLAY_F16> : nullptr},
        {Role::limit, "expand_nt_bf16", compact, 0, 1, {}, streams ? expand_nt<INLAY_BF16> : nullptr},
        {Role::limit, "expand_nt_i8", compact, 0, 1, {}, streams ? expand_nt<INLAY_I8> : nullptr},
        {Role::limit, "expand_nt_i8_inverse", compact, 0, 1, {}, streams ? expand_nt<INLAY_I8_INVERSE> : nullptr},
        {Role::limit, "expand_nt_u8_rowwise", compact, 0, 1, {}, streams ? expand_nt<INLAY_U8_ROWWISE> : nullptr},
        {Role::limit, "expand_nt_u4_rowwise", compact, 0, 1, {}, streams ? expand_nt<INLAY_U4_ROWWISE> : nullptr},
        {Role::limit, "expand_nt_u4_grouped", compact, 0, 1, {}, streams ? expand_nt<INLAY_U4_GROUPED> : nullptr},
        {Role::limit, "expand_nt_q8_0", compact, 0, 1, {}, streams ? expand_nt<INLAY_Q8_0> : nullptr},
        {Role::limit, "expand_nt_q4_0", compact, 0, 1, {}, streams ? expand_nt<INLAY_Q4_0> : nullptr},
        {Role::limit, "three_passes_i8", compact, 0, 1, {}, three_passes_i8},
        {Role::limit, "fill", tables, parallel, 1, {}, fill},
        {Role::limit, "fill_nt", tables, parallel, 1, {}, streams ? fill_nt : nullptr},
    };
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
    // Of scalar one speed is enough; it is no contender.
    const std::size_t pairs = shape.seq * ((shape.dim + 1) / 2);
    return threads == 1 && shape.series != growing && shape.series != compact &&
           (!(operation.traits & computes) || pairs <= scalar_pairs);
}

std::int64_t bytes_moved(const Operation &operation, const Shape &shape)
{
    return static_cast<std::int64_t>(operation.passes * shape.batch * shape.seq * shape.dim * sizeof(float));
}
