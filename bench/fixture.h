// SPDX-License-Identifier: MIT
//
// The memory and the handles of one shape, shared by all its contenders: every contender reads the same table by the
// same ids and writes the same output. A fixture is built before the clock runs and destroyed before the next shape;
// it measures nothing.
#ifndef INLAY_BENCH_FIXTURE_H
#define INLAY_BENCH_FIXTURE_H

#include "pages.h"
#include "shapes.h"

#include <cstdint>
#include <vector>

// A copy of the table in a quantised or 16-bit type, with a layer that reads it.
struct Quantised {
    inlay_table tokens{};
    inlay_layer *caching{}; // like Fixture::caching

    Pages<unsigned char> data, scales, zeros;
};

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
    const std::int32_t *ids{};      // [rows], random over the whole vocabulary
    inlay_table tokens{};           // the view of table
    const float *learned{};         // [cached positions, dim], learned positions
    inlay_table positions{};        // the view of learned
    inlay_batch batch{};            // the ids, from position 0; for a decoder from a position inside the cached ones
    inlay_batch different_starts{}; // for a decoder: the same ids, each sequence at a position of its own
    inlay_layer *caching{};         // scale sqrt(dim) and sinusoid, with all positions cached
    inlay_layer *computing{};       // the same with none cached
    inlay_layer *normed{};          // learned positions, then LayerNorm, as in BERT

    Quantised quantised[INLAY_ELEMENT_TYPES]; // by type; only shapes of the series `compact` have layers here

  private:
    void prepare_tokens();
    void prepare_quantised(inlay_element_type type);

    Pages<float> out_pages_, table_pages_, learned_pages_;
    Pages<std::int32_t> id_pages_;
    std::vector<std::int64_t> starts_;
};

// Returns about how many bytes the fixture of a shape takes.
std::size_t fixture_bytes(const Shape &shape);

// Ends the program if a call failed: the time of an error means nothing.
void require(inlay_status status);

#endif
