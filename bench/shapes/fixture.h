// SPDX-License-Identifier: MIT
//
// The memory and the handles of one shape, shared by all its contenders: every contender reads the same table by the
// same ids and writes the same output. A fixture is built before the clock runs and destroyed before the next shape;
// it measures nothing.
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

// A copy of the table in a quantised or 16-bit type.
struct Quantised {
    inlay_table tokens{};

    Pages<unsigned char> data, scales, zeros;
};

struct Fixture;

// What makes a layer differ from the most common one.
using Change = std::function<void(const Fixture &fixture, inlay_layer_spec &spec)>;

struct Fixture {
    explicit Fixture(const Shape &of);
    ~Fixture();
    Fixture(const Fixture &) = delete;
    Fixture &operator=(const Fixture &) = delete;

    const Shape shape;
    const std::size_t rows;      // of the output: batch * seq
    const std::size_t row_bytes; // the stride too
    const float scale;           // sqrt(dim)

    float *out{};               // [rows, dim]
    inlay_sinusoid *sinusoid{}; // base 10000, interleaved

    // Null or empty where the shape has no tokens.
    const float *table{};           // [vocab, dim]
    const std::int32_t *ids{};      // [rows], of the kind that the shape has
    inlay_table tokens{};           // the view of table
    const float *learned{};         // [cached positions, dim], learned positions
    inlay_table positions{};        // the view of learned
    inlay_batch batch{};            // the ids, from position 0; for a decoder from a position inside the cached ones
    inlay_batch different_starts{}; // for a decoder: the same ids, each sequence at a position of its own

    // The layer of the contender whose turn it is. Each has a layer of its own, which learns from its calls alone.
    mutable inlay_layer *layer{};

    // By type: the tables of the series `small`, which hold whatever the memory holds, and those of the series
    // `compact`.
    Quantised quantised[INLAY_ELEMENT_TYPES];

    std::unique_ptr<NGrams> ngrams; // of the series `hashed`, which has nothing else but `out`

    // Rows visited as the library does, all sequences at a few positions before the next ones, so that L1 holds the
    // position rows; in the order of the batch, for a decoder whose sequences are at different positions; and in that
    // order, each sequence with one output row.
    Visits tiled, separate, pooled;
    std::vector<std::int32_t> tiled_outputs; // [rows], the output rows of `tiled`

    // Makes a layer with scale sqrt(dim), and cached sinusoids for all positions, after a change of its spec.
    Layer make_layer(const Change &change) const;

    // Sets `layer` to the one of that name, which is made if it is new.
    void use_layer(const std::string &name, const Change &change) const;

    // Replaces the layer of that name, which has learnt something, by a new one.
    void renew_layer(const std::string &name, const Change &change) const;

    // Returns ids for the next call of a shape of the series `small`: [rows], other ones each time.
    const std::int32_t *next_ids() const;

  private:
    void take_ids(const std::vector<std::int32_t> &made, PageSize size);
    void prepare_tokens();
    void prepare_visits();
    void prepare_small();
    void prepare_quantised(inlay_element_type type);

    Pages<float> out_pages_, table_pages_, learned_pages_;
    Pages<std::int32_t> id_pages_;
    std::vector<std::int64_t> starts_;
    mutable std::size_t next_id_{};
    mutable std::map<std::string, Layer> layers_;
};

// Returns whether this machine has memory for the fixture of a shape. A table that the system swaps out would measure
// the disk.
bool fits(const Shape &shape);

// Returns about how many bytes the fixture of a shape takes.
std::size_t fixture_bytes(const Shape &shape);

// Returns the bytes of the array of scales that a row has, in the groups of the benchmarks; 0 without such an array.
std::size_t scale_bytes(inlay_element_type type, std::size_t dim);
