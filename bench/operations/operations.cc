// SPDX-License-Identifier: MIT
//
// The operations on float32 tables, and how each is called. These functions run while the clock does: they only make
// their calls and check that each succeeds.
#include "operations/operations.h"

#include <algorithm>
#include <cstring>

void embed(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_forward(f.layer, &f.batch, out, f.row_bytes, executor, nullptr));
}

static void embed_starts(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_forward(f.layer, &f.different_starts, out, f.row_bytes, executor, nullptr));
}

static void change_nothing(const Fixture &, inlay_layer_spec &)
{
}

static void compute_positions(const Fixture &, inlay_layer_spec &spec)
{
    spec.cached_positions = 0;
}

// As in sentence embeddings without token weights: the mean of each sequence's rows.
static void pool(const Fixture &, inlay_layer_spec &spec)
{
    spec.sinusoid = nullptr;
    spec.cached_positions = 0;
    spec.scale = 1;
    spec.pooling = INLAY_POOLING_MEAN;
}

// The same, then normalized to length 1, as in sentence-transformers.
static void pool_to_unit(const Fixture &f, inlay_layer_spec &spec)
{
    pool(f, spec);
    spec.norm = INLAY_NORM_L2;
    spec.epsilon = 1e-12f;
}

static Change store(inlay_stores stores)
{
    return [stores](const Fixture &, inlay_layer_spec &spec) { spec.stores = stores; };
}

std::size_t calls_to_settle(const Fixture &f)
{
    // Self-tuning does not time calls of fewer bytes than `min_bytes`. It times those below `whole_bytes` as a whole,
    // and larger ones in parts.
    static constexpr std::size_t min_bytes = 256 << 10, whole_bytes = 2 << 20, part_bytes = 512 << 10;
    static constexpr std::size_t samples = 800, least = 24; // calls try both kinds of stores, unless these are fixed
    const std::size_t bytes = f.rows * f.row_bytes;
    if (bytes < min_bytes)
        return 0;
    return bytes < whole_bytes ? samples : std::max(least, samples * part_bytes / bytes);
}

static void gather(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_gather(&f.tokens, f.ids, INLAY_ID_I32, f.rows, 1, out, f.row_bytes, executor, nullptr));
}

// In place, again and again: any factor other than 1 or -1 would soon make all values infinite or subnormal.
static void scale(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_scale(out, f.row_bytes, f.rows, f.shape.dim, -1, out, f.row_bytes, executor));
}

static void add_positions(const Fixture &f, float *out, const inlay_executor *executor)
{
    require(inlay_add_positions(out, f.row_bytes, f.shape.batch, f.shape.seq, &f.positions, 0, executor, nullptr));
}

// In place, again and again: rotations keep the size of values.
template <Fixture::Rotary rotary> static void rotate(const Fixture &f, float *out, const inlay_executor *executor)
{
    auto *const keys = reinterpret_cast<unsigned char *>(out) + query_heads * f.shape.columns * out_bytes(f.shape);
    inlay_rotary_tensor tensors[] = {inlay_rotary_in_place(f.shape.out_type, out, query_heads, f.shape.columns),
                                     inlay_rotary_in_place(f.shape.out_type, keys, key_heads, f.shape.columns)};
    for (inlay_rotary_tensor &tensor : tensors)
        tensor.data_strides.token = tensor.out_strides.token = f.row_bytes;
    require(
        inlay_rotate(f.rotary[rotary], &f.batch, tensors, std::size(tensors), INLAY_ROTARY_FORWARD, executor, nullptr));
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

// Appends the most common layer, and its choice of stores compared with layers whose stores are fixed.
static void add_embed(std::vector<Operation> &all)
{
    static constexpr unsigned tokens = prompts | growing | decoding | drawn;
    for (const auto &[how, suffix, traits, passes] : deliveries) {
        const bool reused = how == Delivery::reused, read = how == Delivery::read;
        const auto streams = reused ? in_modes("streams", all_modes()) : std::vector<std::string>();
        const auto run = deliver(how, embed);
        all.push_back({Role::kernel, std::string("embed") + suffix, tokens, traits | (read ? 0u : same_stores), passes,
                       in_modes(std::string("copy") + suffix, modes_of(how)), streams, run, change_nothing});
        const std::string name = std::string("stores") + (reused ? "_call" : suffix);
        const unsigned threads = read ? unsigned{parallel} : 0;
        const std::vector<std::string> kinds = {name + "_cached", name + "_nt"};
        all.push_back({Role::kernel, name, forced, threads, passes, kinds, {}, run, change_nothing});
        all.push_back({Role::limit, kinds[0], forced, threads, passes, {}, {}, run, store(INLAY_STORES_CACHED)});
        all.push_back({Role::limit, kinds[1], forced, threads, passes, {}, {}, run, store(INLAY_STORES_STREAMED)});
    }
}

static void add_plain_operations(std::vector<Operation> &all)
{
    // The loops that copy rows are the limits of every operation that reads token rows and writes as many floats.
    const auto copies = in_modes("copy", all_modes()), sums = in_modes("add_rows", cached_modes());
    const auto starts = in_modes("two_rows", all_modes());
    const std::vector<std::string> rewrites = {"rewrite", "rewrite_nt"}, fills = {"fill", "fill_nt"};
    auto positions = in_modes("rewrite_positions", all_modes());
    positions.push_back("rewrite_positions_runs");
    static constexpr unsigned computed = computes | parallel | same_stores;
    add_embed(all);
    const std::initializer_list<Operation> others = {
        {Role::kernel, "embed_starts", decoding, 0, 2, copies, starts, reuse(embed_starts), change_nothing},
        {Role::kernel, "embed_computed", prompts, computed, 2, copies, {}, reuse(embed), compute_positions},
        {Role::kernel, "embed_pooled", prompts, 0, 1, sums, {}, reuse(embed), pool},
        {Role::kernel, "l2_pooled", encoding, 0, 1, sums, {}, reuse(embed), pool_to_unit},
        {Role::kernel, "gather", prompts | decoding, same_stores, 2, copies, {}, reuse(gather)},
        {Role::kernel, "scale", prompts, 0, 2, rewrites, {}, reuse(scale)},
        {Role::kernel, "add_positions", prompts, 0, 2, rewrites, positions, reuse(add_positions)},
        {Role::kernel, "rotate", rotating, 0, 2, {"rewrite"}, {}, reuse(rotate<Fixture::halves>)},
        {Role::kernel, "rotate_interleaved", rotating, 0, 2, {"rewrite"}, {}, reuse(rotate<Fixture::interleaved>)},
        {Role::kernel, "rotate_computed", rotating, 0, 2, {"rewrite"}, {}, reuse(rotate<Fixture::computed>)},
        {Role::kernel, "sinusoid", tables, computes | parallel, 1, fills, {}, reuse(sinusoid)},
    };
    all.insert(all.end(), others);
}

static std::vector<Operation> make_operations()
{
    std::vector<Operation> all;
    add_plain_operations(all);
    add_plain_limits(all);
    add_encoder_operations(all);
    add_compact_operations(all);
    add_small_operations(all);
    add_ngram_operations(all);
    add_strategy_operations(all);
#ifdef INLAY_BENCH_FILE
    add_cold_operations(all);
#endif
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
    if (operation.traits & lone && shape.batch > 1)
        return false;
    if (operation.traits & copies && shape.type != shape.out_type)
        return false;
    if (operation.traits & large && shape.batch * shape.seq * shape.dim * sizeof(float) < large_bytes)
        return false;
    if (threads > 1 && (!shape.threads || !(operation.traits & parallel)))
        return false;
    if (isa != "scalar" && isa != "portable")
        return true;
    if (operation.traits & per_isa)
        return false;
    // scalar and portable aren't meant to be fast (one defines results, the other runs anywhere): a few rows are
    // enough.
    const std::size_t pairs = shape.seq * ((shape.dim + 1) / 2);
    return threads == 1 && shape.series & (prompts | decoding | tables) && !(operation.traits & large) &&
           (isa != "scalar" || !(operation.traits & computes) || pairs <= scalar_pairs);
}

Stores stores_of(const Operation &operation, const Fixture &f)
{
    const std::size_t bytes = f.ngrams ? f.rows * f.shape.columns * f.ngrams->row_bytes : f.rows * f.row_bytes;
    if (!operation.change)
        return bytes > inlay_tuning_default().stream_bytes ? Stores::non_temporal : Stores::cached;
    char plan[INLAY_PLAN_TEXT_BYTES];
    require(inlay_forward_explain(f.layer, &f.batch, f.out, f.row_bytes, nullptr, nullptr, plan, sizeof plan));
    return std::strstr(plan, "\nstores:    non-temporal") ? Stores::non_temporal : Stores::cached;
}

std::int64_t bytes_moved(const Operation &operation, const Shape &shape)
{
    if (shape.series == hashed) {
        const std::size_t read = inlay_table_row_bytes(shape.type, shape.dim) + scale_bytes(shape);
        const std::size_t rows = shape.seq * shape.columns;
        return static_cast<std::int64_t>(operation.passes * rows * (read + shape.dim * out_bytes(shape)));
    }
    return static_cast<std::int64_t>(operation.passes * shape.batch * shape.seq * shape.dim * out_bytes(shape));
}
