// SPDX-License-Identifier: MIT
//
// The memory and handles of one shape, shared by all its contenders: each reads the same table with the same ids and
// writes the same output. A fixture is built before timing starts and destroyed before the next shape. It measures
// nothing.
#pragma once

#include "limits/loops.h"
#include "shapes/ngrams.h"
#include "shapes/pages.h"
#include "shapes/require.h"
#include "shapes/shapes.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

// The order in which a bare loop visits the rows of a call.
struct Visits {
    std::vector<std::int32_t> ids; // [rows]
    std::vector<Place> places;     // [rows]
};

struct DestroyLayer {
    void operator()(inlay_layer *layer) const
    {
        inlay_layer_destroy(layer);
    }
};

using Layer = std::unique_ptr<inlay_layer, DestroyLayer>;

// A copy of the table in a quantized or 16-bit type.
struct Quantized {
    inlay_table tokens{};

    Pages<unsigned char> data, scales, zeros;
};

constexpr std::int32_t padding_id = 1, first_position = 2; // of an encoder, as in RoBERTa

struct Fixture;

// Changes the spec of the default layer.
using Change = std::function<void(const Fixture &fixture, inlay_layer_spec &spec)>;

struct Fixture {
    explicit Fixture(const Shape &of);
    ~Fixture();
    Fixture(const Fixture &) = delete;
    Fixture &operator=(const Fixture &) = delete;

    const Shape shape;
    const std::size_t rows;      // of the output: batch * seq
    const std::size_t row_bytes; // also the stride
    const float scale;           // sqrt(dim)

    float *out{};               // [rows, dim]
    inlay_sinusoid *sinusoid{}; // base 10000, interleaved

    // Of the series `rotating`: handles for heads of shape.columns, the last one without cached positions.
    enum Rotary { halves, interleaved, computed, rotaries };
    inlay_rotary *rotary[rotaries]{};

    // Null or empty if the shape has no tokens.
    const float *table{};           // [vocab, dim]
    const std::int32_t *ids{};      // [rows], of kind shape.ids
    inlay_table tokens{};           // view of table
    const float *learned{};         // [cached positions, dim], learned positions
    inlay_table positions{};        // view of learned
    inlay_table segments{};         // [2, dim], after the learned positions
    inlay_batch batch{};            // the ids, from position 0; for a decoder, from a cached position; for an encoder,
                                    // from first_position
    inlay_batch different_starts{}; // for a decoder: the same ids, each sequence at a different position

    // For an encoder, [rows]: the same positions, and 0 or 1 for the halves of a sequence. Its last eighth is padding.
    std::vector<std::int32_t> position_ids, segment_ids;

    // The layer of the contender that is running. Each contender has its own, tuned only by its calls.
    mutable inlay_layer *layer{};

    // Tables by type. In the series `small` their contents are arbitrary; in `compact` they are quantized copies.
    Quantized quantized[INLAY_ELEMENT_TYPES];

    std::unique_ptr<NGrams> ngrams; // of the series `hashed`, which uses only this and `out`

    // Orders in which rows are visited. `tiled`: as in the library, all sequences at a few positions before the next
    // ones, so the position rows stay in L1. `separate`: in batch order, for a decoder whose sequences are at different
    // positions. `pooled`: in batch order, with one output row per sequence.
    Visits tiled, separate, pooled;
    std::vector<std::int32_t> tiled_outputs; // [rows], the output rows of `tiled`

    // Makes a layer with scale sqrt(dim) and sinusoids cached for all positions, after changing its spec.
    Layer make_layer(const Change &change) const;

    // Sets `layer` to the layer `name`, and makes it if necessary.
    void use_layer(const std::string &name, const Change &change) const;

    // Replaces the layer `name` by a new one, which has tuned nothing yet.
    void renew_layer(const std::string &name, const Change &change) const;

    // Returns ids [rows] for the next call of a shape of the series `small`, different in each call.
    const std::int32_t *next_ids() const;

  private:
    void take_ids(const std::vector<std::int32_t> &made, PageSize size);
    void prepare_tokens();
    void prepare_visits();
    void prepare_rotating();
    void prepare_encoding(std::vector<std::int32_t> &made);
    void prepare_small();
    void prepare_quantized(inlay_element_type type);

    Pages<float> out_pages_, table_pages_, learned_pages_;
    Pages<std::int32_t> id_pages_;
    std::vector<std::int64_t> starts_;
    mutable std::size_t next_id_{};
    mutable std::map<std::string, Layer> layers_;
};

// True if this machine has enough memory for the fixture of a shape. A table that is swapped out would measure the
// disk.
bool fits(const Shape &shape);

// Returns the approximate bytes of a shape's fixture.
std::size_t fixture_bytes(const Shape &shape);

// Returns the bytes of a row's scales in a separate array, with the groups used here; 0 without such an array.
std::size_t scale_bytes(inlay_element_type type, std::size_t dim);
