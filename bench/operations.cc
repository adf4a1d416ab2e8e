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

static void embed_holding(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { require(inlay_forward(s.holding, &s.batch, s.out, s.row_bytes, nullptr, nullptr)); });
}

static void embed_computing(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { require(inlay_forward(s.computing, &s.batch, s.out, s.row_bytes, nullptr, nullptr)); });
}

static void gather(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] {
        require(inlay_gather(&s.tokens, s.ids, INLAY_ID_I32, s.rows, 1, s.out, s.row_bytes, nullptr, nullptr));
    });
}

// Repeated in place: any factor but one of magnitude 1 would soon leave nothing but infinities or subnormals.
static void scale(const Scene &s, std::size_t calls)
{
    repeat(calls,
           [&] { require(inlay_scale(s.out, s.row_bytes, s.rows, s.shape.dim, -1, s.out, s.row_bytes, nullptr)); });
}

static void add_positions(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] {
        require(inlay_add_positions(s.out, s.row_bytes, s.shape.batch, s.shape.seq, &s.positions, 0, nullptr, nullptr));
    });
}

static void sinusoid(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { require(inlay_sinusoid_rows(s.sinusoid, 0, s.rows, INLAY_F32, s.out, s.row_bytes, nullptr)); });
}

static void copy_rows(const Scene &s)
{
    for (std::size_t i = 0; i < s.rows; i++)
        std::memcpy(s.out + i * s.shape.dim, s.table + static_cast<std::size_t>(s.ids[i]) * s.shape.dim, s.row_bytes);
}

static void copy(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { copy_rows(s); });
}

static void copy_nt(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { limit_loops().copy_nt(s.out, s.table, s.ids, s.rows, s.shape.dim); });
}

static void rewrite(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { limit_loops().scale(s.out, s.rows * s.shape.dim, -1); });
}

// As frameworks do it without fusing: each pass over the whole activation, each through the caches.
static void three_passes(const Scene &s, std::size_t calls)
{
    const std::size_t sequence = s.shape.seq * s.shape.dim;
    repeat(calls, [&] {
        copy_rows(s);
        limit_loops().scale(s.out, s.rows * s.shape.dim, s.scale);
        for (std::size_t b = 0; b < s.shape.batch; b++)
            limit_loops().add(s.out + b * sequence, s.learned, sequence);
    });
}

static void fill(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { std::memset(s.out, 1, s.rows * s.row_bytes); });
}

static void fill_nt(const Scene &s, std::size_t calls)
{
    repeat(calls, [&] { limit_loops().fill_nt(s.out, s.rows * s.shape.dim); });
}

const std::vector<Operation> &operations()
{
    static const bool streams = limit_loops().copy_nt != nullptr;
    static const std::vector<Operation> all = {
        {Role::kernel, "embed", Input::tokens, fused, 2, {"copy", "copy_nt"}, embed_holding},
        {Role::kernel, "embed_computed", Input::tokens, fused | computes, 2, {"copy", "copy_nt"}, embed_computing},
        {Role::kernel, "gather", Input::tokens, 0, 2, {"copy", "copy_nt"}, gather},
        {Role::kernel, "scale", Input::tokens, 0, 2, {"rewrite"}, scale},
        {Role::kernel, "add_positions", Input::tokens, 0, 2, {"rewrite"}, add_positions},
        {Role::kernel, "sinusoid", Input::positions, computes, 1, {"fill", "fill_nt"}, sinusoid},
        {Role::limit, "copy", Input::tokens, 0, 2, {}, copy},
        {Role::limit, "copy_nt", Input::tokens, 0, 2, {}, streams ? copy_nt : nullptr},
        {Role::limit, "rewrite", Input::tokens, 0, 2, {}, rewrite},
        {Role::limit, "three_passes", Input::tokens, 0, 2, {}, three_passes},
        {Role::limit, "fill", Input::positions, 0, 1, {}, fill},
        {Role::limit, "fill_nt", Input::positions, 0, 1, {}, streams ? fill_nt : nullptr},
    };
    return all;
}

bool measured(const Operation &operation, const Shape &shape, const std::string &isa)
{
    const Input input = shape.vocab ? Input::tokens : Input::positions;
    if (!operation.run || operation.input != input)
        return false;
    const std::size_t pairs = shape.seq * ((shape.dim + 1) / 2);
    return isa != "scalar" || !(operation.traits & computes) || pairs <= scalar_pairs;
}

std::int64_t bytes_moved(const Operation &operation, const Shape &shape)
{
    return static_cast<std::int64_t>(operation.passes * shape.batch * shape.seq * shape.dim * sizeof(float));
}
