// SPDX-License-Identifier: MIT
//
// Fills the memory of a shape. Every page is written before it is timed: pages that were never written all map to the
// same page of zeros.
#include "fixture.h"

#include <cstdio>
#include <random>

static constexpr std::uint32_t group = 32; // columns per scale of the grouped types

void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    std::fprintf(stderr, "inlay_bench: %s\n", inlay_status_string(status));
    std::exit(1);
}

// Allocates [n] floats, `offset` bytes past a page, and fills them with values of all signs and many exponents in
// [-1, 1).
static float *fill(Pages<float> &pages, std::size_t n, std::size_t offset)
{
    pages = make_pages<float>(n + offset / sizeof(float));
    float *x = pages.get() + offset / sizeof(float);
    for (std::size_t i = 0; i < n; i++) // a multiplicative hash, which vectorises: tables have 2 GB
        x[i] = static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 2654435761u)) * 0x1p-31f;
    return x;
}

// Returns how many positions the layer of a shape caches; a decoder's caches the most that
// INLAY_CACHED_POSITIONS_DEFAULT does.
static std::size_t cached_positions(const Shape &shape)
{
    return shape.series == decoding ? 4096 : shape.seq;
}

static inlay_layer *make_layer(const Fixture &fixture, const inlay_table &tokens, std::size_t cached)
{
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = fixture.sinusoid;
    spec.cached_positions = cached;
    spec.scale = fixture.scale;
    inlay_layer *layer;
    require(inlay_layer_create(&spec, &pages_allocator, &layer));
    return layer;
}

static inlay_layer *make_normed(const Fixture &fixture)
{
    inlay_layer_spec spec = inlay_layer_spec_default(&fixture.tokens);
    spec.positions = &fixture.positions;
    spec.norm = INLAY_NORM_LAYER;
    spec.epsilon = 1e-12f;
    spec.gamma = spec.beta = fixture.learned; // any row of finite numbers
    inlay_layer *layer;
    require(inlay_layer_create(&spec, &pages_allocator, &layer));
    return layer;
}

Fixture::Fixture(const Shape &of)
    : shape(of), rows(of.batch * of.seq), row_bytes(of.dim * sizeof(float)), scale(inlay_sqrt_dim(of.dim))
{
    out = fill(out_pages_, rows * shape.dim, shape.offset);
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(shape.dim);
    require(inlay_sinusoid_create(&spec, &pages_allocator, &sinusoid));
    if (shape.series != tables)
        prepare_tokens();
}

void Fixture::prepare_tokens()
{
    table = fill(table_pages_, shape.vocab * shape.dim, shape.offset);
    tokens = inlay_table_f32(table, shape.vocab, shape.dim);
    const std::size_t cached = cached_positions(shape);
    learned = fill(learned_pages_, cached * shape.dim, 0);
    positions = inlay_table_f32(learned, cached, shape.dim);

    id_pages_ = make_pages<std::int32_t>(rows);
    std::mt19937 random; // default seed: the same ids in every run
    std::uniform_int_distribution<std::int32_t> any_id(0, static_cast<std::int32_t>(shape.vocab - 1));
    for (std::size_t i = 0; i < rows; i++)
        id_pages_[i] = any_id(random);
    ids = id_pages_.get();
    const std::int64_t start = shape.series == decoding ? static_cast<std::int64_t>(cached) / 3 : 0;
    batch = inlay_batch_i32(ids, shape.batch, shape.seq, start);
    std::uniform_int_distribution<std::int64_t> any_start(0, static_cast<std::int64_t>(cached - shape.seq));
    for (std::size_t i = 0; i < shape.batch; i++)
        starts_.push_back(any_start(random));
    different_starts = batch;
    different_starts.start = 0;
    different_starts.starts = starts_.data();

    caching = make_layer(*this, tokens, cached);
    computing = make_layer(*this, tokens, 0);
    if (shape.series == prompts)
        normed = make_normed(*this);
    if (shape.series == compact)
        for (const inlay_element_type type : quantised_types)
            prepare_quantised(type);
}

void Fixture::prepare_quantised(inlay_element_type type)
{
    Quantised &made = quantised[type];
    const bool grouped = type == INLAY_U4_GROUPED || type == INLAY_U4_GROUPED_FLAT;
    const bool scaled = grouped || type == INLAY_I8 || type == INLAY_I8_INVERSE;
    inlay_table_storage storage = inlay_table_storage_of(type, nullptr, shape.dim);
    made.data = make_pages<unsigned char>(shape.vocab * storage.stride_bytes);
    storage.data = made.data.get();
    if (grouped)
        storage.group = group;
    if (scaled) {
        made.scales = make_pages<unsigned char>(shape.vocab * (grouped ? shape.dim / group : 1) * sizeof(float));
        storage.scales = made.scales.get();
    }
    if (type == INLAY_U4_GROUPED_FLAT) { // without zero points it cannot hold negative values
        made.zeros = make_pages<unsigned char>((shape.vocab * (shape.dim / group) + 1) / 2);
        storage.zeros = made.zeros.get();
    }
    require(inlay_table_quantize(&tokens, &storage, &made.tokens, nullptr));
    made.caching = make_layer(*this, made.tokens, cached_positions(shape));
}

Fixture::~Fixture()
{
    for (const Quantised &made : quantised)
        inlay_layer_destroy(made.caching);
    inlay_layer_destroy(caching);
    inlay_layer_destroy(computing);
    inlay_layer_destroy(normed);
    inlay_sinusoid_destroy(sinusoid);
}

std::size_t fixture_bytes(const Shape &shape)
{
    const std::size_t cached_bytes = cached_positions(shape) * shape.dim * sizeof(float);
    // The output and the embedding table; the learned positions and as many cached sinusoids.
    std::size_t bytes = (shape.batch * shape.seq + shape.vocab) * shape.dim * sizeof(float) + 2 * cached_bytes;
    if (shape.series == compact)
        for (const inlay_element_type type : quantised_types)
            bytes += shape.vocab * inlay_table_row_bytes(type, shape.dim) + cached_bytes;
    return bytes;
}
