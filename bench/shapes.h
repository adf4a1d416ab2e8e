// SPDX-License-Identifier: MIT
//
// The shapes that are measured. To measure another one, add a line to the table.
// Nothing here allocates or measures: scene.h gives a shape its memory, rounds.h its time.
#ifndef INLAY_BENCH_SHAPES_H
#define INLAY_BENCH_SHAPES_H

#include <cstddef>
#include <string>

struct Shape {
    std::size_t batch;
    std::size_t seq;
    std::size_t dim;
    std::size_t vocab;  // rows of the embedding table; 0: a table of sinusoids [seq, dim] and no tokens
    std::size_t offset; // bytes past a page at which the table and the output begin
};

constexpr Shape shapes[] = {
    // Outputs from 4 MiB to 256 MiB: what prompts of many sequences ask for.
    {32, 512, 64, 100000, 0},
    {32, 512, 512, 50000, 0},
    {32, 512, 768, 50000, 0},
    {8, 2048, 4096, 128000, 0},
    {8, 8192, 1024, 32000, 0},
    // No batch over which a position row could be shared.
    {1, 2048, 4096, 32000, 0},
    // In cache: decoding, a short prompt, one token.
    {64, 1, 4096, 32000, 0},
    {1, 128, 512, 50000, 0},
    {1, 1, 512, 50000, 0},
    // NumPy's large arrays begin at 16 mod 64; rows of an odd dim begin anywhere.
    {32, 512, 512, 50000, 16},
    {32, 512, 511, 50000, 0},
    // Tables larger than the caches, the table of a prompt, and one that scalar computes in bearable time.
    {1, 65536, 512, 0, 0},
    {1, 32768, 768, 0, 0},
    {1, 32768, 1024, 0, 0},
    {1, 16384, 4096, 0, 0},
    {1, 128, 512, 0, 0},
    {1, 16, 64, 0, 0},
};

inline std::string shape_name(const Shape &shape)
{
    const std::string dim = "_d" + std::to_string(shape.dim);
    if (!shape.vocab)
        return "r" + std::to_string(shape.seq) + dim;
    return "b" + std::to_string(shape.batch) + "_s" + std::to_string(shape.seq) + dim + "_v" +
           std::to_string(shape.vocab) + (shape.offset ? "_at" + std::to_string(shape.offset) : "");
}

#endif
