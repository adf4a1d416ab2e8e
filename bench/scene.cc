// SPDX-License-Identifier: MIT
//
// Fills the memory of a shape. Used by main.cc to set the stage and by operations.cc to play on it.
// Every page is written before it is timed: pages that were never written are all one and the same page of zeros.
#include "scene.h"

#include <cstdio>
#include <random>

void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    std::fprintf(stderr, "inlay_bench: %s\n", inlay_status_string(status));
    std::exit(1);
}

// [n] floats of all signs and many exponents in [-1, 1), `offset` bytes past a page.
static float *fill(Pages<float> &pages, std::size_t n, std::size_t offset)
{
    pages = make_pages<float>(n + offset / sizeof(float));
    float *x = pages.get() + offset / sizeof(float);
    for (std::size_t i = 0; i < n; i++) // a multiplicative hash, which vectorises: tables have 2 GB
        x[i] = static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 2654435761u)) * 0x1p-31f;
    return x;
}

// Positions that the layer of a shape holds. A decoder's: what inlay_layer_spec_default() holds at most.
static std::size_t held_positions(const Shape &shape)
{
    return shape.series == decoding ? 4096 : shape.seq;
}

static inlay_layer *make_layer(const Scene &scene, const inlay_table &tokens, std::size_t cached_positions)
{
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = scene.sinusoid;
    spec.cached_positions = cached_positions;
    spec.scale = scene.scale;
    inlay_layer *layer;
    require(inlay_layer_create(&spec, &pages_allocator, &layer));
    return layer;
}

static inlay_layer *make_normed(const Scene &scene)
{
    inlay_layer_spec spec = inlay_layer_spec_default(&scene.tokens);
    spec.positions = &scene.positions;
    spec.norm = INLAY_NORM_LAYER;
    spec.epsilon = 1e-12f;
    spec.gamma = spec.beta = scene.learned; // some row
    inlay_layer *layer;
    require(inlay_layer_create(&spec, &pages_allocator, &layer));
    return layer;
}

Scene::Scene(const Shape &of)
    : shape(of), rows(of.batch * of.seq), row_bytes(of.dim * sizeof(float)), scale(inlay_sqrt_dim(of.dim))
{
    out = fill(out_pages_, rows * shape.dim, shape.offset);
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(shape.dim);
    require(inlay_sinusoid_create(&spec, &pages_allocator, &sinusoid));
    if (shape.series != tables)
        prepare_tokens();
}

void Scene::prepare_tokens()
{
    table = fill(table_pages_, shape.vocab * shape.dim, shape.offset);
    tokens = inlay_table_f32(table, shape.vocab, shape.dim);
    const std::size_t held = held_positions(shape);
    learned = fill(learned_pages_, held * shape.dim, 0);
    positions = inlay_table_f32(learned, held, shape.dim);

    id_pages_ = make_pages<std::int32_t>(rows);
    std::mt19937 random; // the same ids in every run
    std::uniform_int_distribution<std::int32_t> any(0, static_cast<std::int32_t>(shape.vocab - 1));
    for (std::size_t i = 0; i < rows; i++)
        id_pages_[i] = any(random);
    ids = id_pages_.get();
    batch = inlay_batch_i32(ids, shape.batch, shape.seq, shape.series == decoding ? static_cast<int64_t>(held) / 3 : 0);
    std::uniform_int_distribution<std::int64_t> anywhere(0, static_cast<std::int64_t>(held - shape.seq));
    for (std::size_t i = 0; i < shape.batch; i++)
        starts_.push_back(anywhere(random));
    apart = batch;
    apart.start = 0;
    apart.starts = starts_.data();

    holding = make_layer(*this, tokens, held);
    computing = make_layer(*this, tokens, 0);
    if (shape.series == prompts)
        normed = make_normed(*this);
    if (shape.series == compact)
        prepare_stored();
}

void Scene::prepare_stored()
{
    constexpr std::uint32_t group = 32;
    for (int i = INLAY_F16; i < INLAY_ELEMENT_TYPES; i++) {
        const inlay_element_type type = static_cast<inlay_element_type>(i);
        Stored &made = stored[i];
        made.tokens = tokens;
        made.tokens.type = type;
        made.tokens.stride_bytes = inlay_table_row_bytes(type, shape.dim);
        made.data = make_pages<unsigned char>(shape.vocab * made.tokens.stride_bytes);
        made.tokens.data = made.data.get();
        if (type == INLAY_U4_GROUPED)
            made.tokens.group = group;
        if (type == INLAY_U4_GROUPED || type == INLAY_I8 || type == INLAY_I8_INVERSE) {
            const std::size_t scales = type == INLAY_U4_GROUPED ? shape.dim / group : 1;
            made.scales = make_pages<unsigned char>(shape.vocab * scales * sizeof(float));
            made.tokens.scales = made.scales.get();
        }
        require(inlay_table_quantize(&tokens, &made.tokens, nullptr));
        made.holding = make_layer(*this, made.tokens, held_positions(shape));
    }
}

Scene::~Scene()
{
    for (const Stored &made : stored)
        inlay_layer_destroy(made.holding);
    inlay_layer_destroy(holding);
    inlay_layer_destroy(computing);
    inlay_layer_destroy(normed);
    inlay_sinusoid_destroy(sinusoid);
}

std::size_t scene_bytes(const Shape &shape)
{
    // Output, embedding table; as many learned positions as are held.
    std::size_t bytes = (shape.batch * shape.seq + shape.vocab + 2 * held_positions(shape)) * shape.dim * sizeof(float);
    for (int type = INLAY_F16; type < INLAY_ELEMENT_TYPES && shape.series == compact; type++)
        bytes += shape.vocab * inlay_table_row_bytes(static_cast<inlay_element_type>(type), shape.dim) +
                 held_positions(shape) * shape.dim * sizeof(float);
    return bytes;
}
