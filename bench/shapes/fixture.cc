// SPDX-License-Identifier: MIT
//
// Fills the memory of a shape. Every page is written before it is timed: untouched pages all map to the same zero page.
#include "shapes/fixture.h"

#include "shapes/table_memory.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" // a C header
extern "C" {
#include "table/element.h"
}
#pragma GCC diagnostic pop

#include <algorithm>
#include <random>

static constexpr std::uint32_t group = 32; // columns per scale of the grouped types

// Allocates and fills [n] floats, `offset` bytes past a page.
static float *fill(Pages<float> &pages, std::size_t n, std::size_t offset, PageSize size = huge_pages)
{
    pages = make_pages<float>(n + offset / sizeof(float), size);
    float *x = pages.get() + offset / sizeof(float);
    fill_floats(x, n);
    return x;
}

// Returns how many positions the layer of a shape caches. A decoder caches the maximum of
// INLAY_CACHED_POSITIONS_DEFAULT.
static std::size_t cached_positions(const Shape &shape)
{
    return shape.series == decoding ? 4096 : shape.seq + (shape.series == encoding ? first_position : 0);
}

Layer Fixture::make_layer(const Change &change) const
{
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = sinusoid;
    spec.cached_positions = cached_positions(shape);
    spec.scale = scale;
    change(*this, spec);
    inlay_layer *made;
    require(inlay_layer_create(&spec, &pages_allocator, &made));
    return Layer(made);
}

void Fixture::use_layer(const std::string &name, const Change &change) const
{
    Layer &named = layers_[name];
    if (!named)
        named = make_layer(change);
    layer = named.get();
}

void Fixture::renew_layer(const std::string &name, const Change &change) const
{
    layers_[name].reset();
    use_layer(name, change);
}

Fixture::Fixture(const Shape &of)
    : shape(of), rows(of.batch * of.seq), row_bytes(of.dim * out_bytes(of)), scale(inlay_sqrt_dim(of.dim))
{
    if (shape.series == small) {
        prepare_small();
        return;
    }
    if (shape.series == hashed) {
        ngrams = std::make_unique<NGrams>(shape);
        out = fill(out_pages_, rows * shape.columns * ngrams->row_bytes / sizeof(float), 0, shape.pages);
        return;
    }
    out = fill(out_pages_, rows * shape.dim, shape.offset, shape.pages);
    if (shape.series & (cold | warm))
        return;
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(shape.dim);
    require(inlay_sinusoid_create(&spec, &pages_allocator, &sinusoid));
    if (shape.series == rotating)
        prepare_rotating();
    else if (shape.series != tables)
        prepare_tokens();
}

void Fixture::take_ids(const std::vector<std::int32_t> &made, PageSize size)
{
    id_pages_ = make_pages<std::int32_t>(made.size(), size);
    std::copy(made.begin(), made.end(), id_pages_.get());
    ids = id_pages_.get();
}

void Fixture::prepare_tokens()
{
    table = fill(table_pages_, shape.vocab * shape.dim, shape.offset, shape.pages);
    tokens = inlay_table_f32(table, shape.vocab, shape.dim);
    const std::size_t cached = cached_positions(shape);
    static constexpr std::size_t segment_types = 2;
    learned = fill(learned_pages_, (cached + segment_types) * shape.dim, 0, shape.pages);
    positions = inlay_table_f32(learned, cached, shape.dim);
    segments = inlay_table_f32(learned + cached * shape.dim, segment_types, shape.dim);

    std::vector<std::int32_t> made = make_ids(shape.ids, shape.vocab, rows);
    if (shape.series == encoding)
        prepare_encoding(made);
    take_ids(made, huge_pages);
    const std::int64_t start = shape.series == decoding   ? static_cast<std::int64_t>(cached) / 3
                               : shape.series == encoding ? first_position
                                                          : 0;
    batch = inlay_batch_i32(ids, shape.batch, shape.seq, start);
    std::mt19937 engine; // default seed: the same starts in every run
    std::uniform_int_distribution<std::int64_t> any_start(0, static_cast<std::int64_t>(cached - shape.seq));
    for (std::size_t i = 0; i < shape.batch; i++)
        starts_.push_back(any_start(engine));
    different_starts = batch;
    different_starts.start = 0;
    different_starts.starts = starts_.data();

    prepare_visits();
    if (shape.series == compact)
        for (int type = INLAY_F16; type < INLAY_ELEMENT_TYPES; type++)
            prepare_quantized(static_cast<inlay_element_type>(type));
}

void Fixture::prepare_rotating()
{
    batch = inlay_batch_i32(nullptr, shape.batch, shape.seq, 0);
    require(inlay_sinusoid_rows(sinusoid, 1, rows, shape.out_type, out, row_bytes, nullptr)); // any heads
    for (int i = 0; i < rotaries; i++) {
        inlay_rotary_spec spec = inlay_rotary_spec_default(shape.columns);
        spec.layout = i == interleaved ? INLAY_ROTARY_INTERLEAVED : INLAY_ROTARY_HALVES;
        spec.cached_positions = i == computed ? 0 : shape.seq;
        require(inlay_rotary_create(&spec, &pages_allocator, &rotary[i]));
    }
}

void Fixture::prepare_encoding(std::vector<std::int32_t> &made)
{
    for (std::size_t i = 0; i < rows; i++) {
        const std::size_t position = i % shape.seq;
        position_ids.push_back(static_cast<std::int32_t>(position) + first_position);
        segment_ids.push_back(position < shape.seq / 2 ? 0 : 1);
        if (position >= shape.seq - shape.seq / 8)
            made[i] = padding_id;
    }
}

void Fixture::prepare_visits()
{
    static constexpr std::size_t tile_bytes = 16 << 10; // of position rows, half of the smallest L1
    const std::size_t tile = std::max<std::size_t>(1, tile_bytes / row_bytes);
    for (std::size_t first = 0; first < shape.seq; first += tile)
        for (std::size_t b = 0; b < shape.batch; b++)
            for (std::size_t s = first; s < std::min(first + tile, shape.seq); s++) {
                const std::size_t token = b * shape.seq + s, position = static_cast<std::size_t>(batch.start) + s;
                tiled.ids.push_back(ids[token]);
                tiled_outputs.push_back(static_cast<std::int32_t>(token));
                const std::uint32_t segment = s < shape.seq / 2 ? 0 : 1;
                tiled.places.push_back(
                    {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(token), segment});
            }
    pooled.ids.assign(ids, ids + rows);
    for (std::size_t i = 0; i < rows; i++) {
        const auto sequence = static_cast<std::uint32_t>(i / shape.seq);
        pooled.places.push_back({sequence, sequence});
    }
    if (shape.series != decoding)
        return;
    separate.ids.assign(ids, ids + rows);
    for (std::size_t b = 0; b < shape.batch; b++)
        separate.places.push_back({static_cast<std::uint32_t>(starts_[b]), static_cast<std::uint32_t>(b)});
}

std::size_t scale_bytes(inlay_element_type type, std::size_t dim)
{
    return inlay_table_scale_bytes(type, dim, group);
}

void Fixture::prepare_quantized(inlay_element_type type)
{
    Quantized &made = quantized[type];
    const bool grouped = inlay_row_formats[type].scales == INLAY_SCALES_PER_GROUP;
    const std::size_t row_scales = scale_bytes(type, shape.dim);
    inlay_table_storage storage = inlay_table_storage_of(type, nullptr, shape.dim);
    made.data = make_pages<unsigned char>(shape.vocab * storage.stride_bytes);
    storage.data = made.data.get();
    if (grouped)
        storage.group = group;
    if (row_scales > 0) {
        made.scales = make_pages<unsigned char>(shape.vocab * row_scales);
        storage.scales = made.scales.get();
    }
    if (type == INLAY_U4_GROUPED_FLAT) { // without zero points it can't hold negative values
        made.zeros = make_pages<unsigned char>((shape.vocab * (shape.dim / group) + 1) / 2);
        storage.zeros = made.zeros.get();
    }
    require(inlay_table_quantize(&tokens, &storage, &made.tokens, nullptr));
}

Fixture::~Fixture()
{
    layers_.clear(); // before the objects they use
    inlay_sinusoid_destroy(sinusoid);
    for (inlay_rotary *each : rotary)
        inlay_rotary_destroy(each);
}

// 2 GiB, or a third of memory if the machine has less than 6 GiB.
static std::size_t small_table_bytes()
{
    return std::min<std::size_t>(std::size_t{2} << 30, all_memory() / 3);
}

// Ids for many calls: with rows of 64 bytes, they read 256 MiB before repeating.
static constexpr std::size_t small_ids = std::size_t{1} << 22;
static constexpr std::size_t min_small_row_bytes = 64;

static std::size_t small_memory(const Shape &shape)
{
    const std::size_t out = shape.seq * small_columns(INLAY_U4_ROWWISE, shape.dim) * sizeof(float);
    const std::size_t scales = small_table_bytes() / min_small_row_bytes * sizeof(float);
    return small_table_bytes() + scales + small_ids * sizeof(std::int32_t) + out;
}

void Fixture::prepare_small()
{
    static constexpr std::size_t max_tail = 8; // bytes of a rowwise row besides its codes
    const void *codes = table_memory(shape.pages, small_table_bytes());
    const std::size_t vocab = small_table_bytes() / (row_bytes + max_tail);
    for (const inlay_element_type type : small_types) {
        const std::size_t dim = small_columns(type, shape.dim);
        quantized[type].tokens = inlay_table_view(type, codes, vocab, dim, inlay_table_row_bytes(type, dim));
        if (type == INLAY_I8)
            quantized[type].tokens.scales =
                scale_memory(shape.pages, small_table_bytes() / min_small_row_bytes * sizeof(float));
    }
    out = fill(out_pages_, rows * small_columns(INLAY_U4_ROWWISE, shape.dim), 0, shape.pages);
    take_ids(make_ids(Ids::uniform, vocab, small_ids), shape.pages);
}

const std::int32_t *Fixture::next_ids() const
{
    const std::size_t first = next_id_ + rows > small_ids ? 0 : next_id_;
    next_id_ = first + rows;
    return ids + first;
}

bool fits(const Shape &shape)
{
    const std::size_t most = (shape.series & (small | hashed)) != 0 ? free_memory() / 4 * 3 : all_memory() / 2;
    return fixture_bytes(shape) <= most;
}

std::size_t fixture_bytes(const Shape &shape)
{
    static constexpr std::size_t max_layers = 16;
    const std::size_t cached_bytes = cached_positions(shape) * shape.dim * sizeof(float);
    if (shape.series == small)
        return small_memory(shape);
    if (shape.series == hashed)
        return ngram_memory(shape);
    if (shape.series & (cold | warm)) // a copy of a table
        return std::size_t{2} << 30;
    // The output, the table, the learned positions, and the cached sinusoids of each layer.
    std::size_t bytes = (shape.batch * shape.seq + shape.vocab) * shape.dim * sizeof(float) + cached_bytes;
    bytes += max_layers * cached_bytes;
    if (shape.series == compact)
        for (int type = INLAY_F16; type < INLAY_ELEMENT_TYPES; type++)
            bytes += shape.vocab * inlay_table_row_bytes(static_cast<inlay_element_type>(type), shape.dim) +
                     2 * cached_bytes;
    return bytes;
}
