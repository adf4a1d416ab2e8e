// SPDX-License-Identifier: MIT
//
// The memory and the handles of one shape, shared by all its contenders: every one reads the same table by the same
// ids and writes the same output. Built before the clock runs and gone before the next shape; it measures nothing.
#ifndef INLAY_BENCH_SCENE_H
#define INLAY_BENCH_SCENE_H

#include "pages.h"
#include "shapes.h"

#include <cstdint>
#include <vector>

// A stored copy of the table, with a layer that reads it.
struct Stored {
    inlay_table tokens{};
    inlay_layer *holding{}; // as Scene's

    Pages<unsigned char> data, scales;
};

struct Scene {
    explicit Scene(const Shape &of);
    ~Scene();
    Scene(const Scene &) = delete;
    Scene &operator=(const Scene &) = delete;

    const Shape shape;
    const std::size_t rows;      // of the output: batch * seq
    const std::size_t row_bytes; // the stride too
    const float scale;           // sqrt(dim)

    float *out{};               // [rows, dim]
    inlay_sinusoid *sinusoid{}; // base 10000, interleaved

    // Null or empty where the shape has no tokens.
    const float *table{};      // [vocab, dim]
    const std::int32_t *ids{}; // [rows], random over the whole vocabulary
    inlay_table tokens{};       // the view of table
    const float *learned{};    // [held positions, dim], positions as a table
    inlay_table positions{};    // the view of learned
    inlay_batch batch{};       // the ids, from position 0; those of a decoder from one in the midst of what is held
    inlay_batch apart{};       // of a decoder: the same, each sequence at a position of its own
    inlay_layer *holding{};    // scale sqrt(dim), sinusoid, all its positions held
    inlay_layer *computing{};  // the same, none held
    inlay_layer *normed{};     // positions from the table, then LayerNorm, as BERT has it

    Stored stored[INLAY_ELEMENT_TYPES]; // of compact shapes, by type; else without layers

  private:
    void prepare_tokens();
    void prepare_stored();

    Pages<float> out_pages_, table_pages_, learned_pages_;
    Pages<std::int32_t> id_pages_;
    std::vector<std::int64_t> starts_;
};

// The bytes that the scene of a shape takes, about.
std::size_t scene_bytes(const Shape &shape);

// Ends the program where a call failed: the time of an error means nothing.
void require(inlay_status status);

#endif
