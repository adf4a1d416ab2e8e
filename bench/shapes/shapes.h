// SPDX-License-Identifier: MIT
//
// The shapes that are measured. To measure another one, add a line to the table. fixture.h gives a shape its memory,
// rounds.h measures its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <inlay/inlay.h>

#include "shapes/ids.h"
#include "shapes/pages.h"

// What a shape is for. This decides which operations it is measured with (operations.cc) and what its fixture holds.
enum Series : unsigned {
    prompts = 1,     // tokens; every operation on them
    tables = 2,      // a table of sinusoids [seq, dim], and no tokens
    growing = 4,     // from few tokens to many: the fused pass alone, to see whether its ratio stays the same
    decoding = 8,    // one token for each of many sequences, at positions that a layer has cached
    compact = 16,    // tokens of a table of each 16-bit and quantised type
    small = 32,      // gathers of short rows from a table that no cache holds, with other ids in each call
    drawn = 64,      // prompts whose sizes are chosen by a seed: the fused pass alone
    forced = 128,    // prompts: the fused pass with automatic, cached and non-temporal stores
    hashed = 256,    // hashed n-grams: short rows from a table of 8 GiB, other ones in each call
    strategic = 512, // prompts: layers that are told how to prefetch, and layers that choose
    cold = 1024,     // random rows of a file that lies on the disk
    warm = 2048,     // the same file in memory
};

enum Threads : bool { one_thread = false, more_threads = true }; // also measured on 2, and on all cores

struct Shape {
    Series series;
    std::size_t batch;
    std::size_t seq;
    std::size_t dim;
    std::size_t vocab;      // rows of the embedding table; 0: no tokens
    std::size_t offset = 0; // bytes past a page at which the table and the output begin
    Threads threads = one_thread;
    PageSize pages = huge_pages;
    // Of `hashed` shapes: rows that each token takes, the type of the table, and that of the output.
    std::size_t columns = 0;
    inlay_element_type type = INLAY_F32;
    inlay_element_type out_type = INLAY_F32;
    Ids ids = Ids::uniform;
};

// Returns the bytes of an element of the output.
inline std::size_t out_bytes(const Shape &shape)
{
    return shape.out_type == INLAY_F32 ? 4 : 2;
}

// The types of the tables of `small` shapes. A shape of dim d, as float32, reads rows of n = 4 d bytes; those of the
// quantised types have as many columns as make their codes take n bytes too. The rowwise types add 8 or 4 bytes.
constexpr inlay_element_type small_types[] = {INLAY_F32, INLAY_I8, INLAY_U8_ROWWISE, INLAY_U4_ROWWISE};

constexpr std::size_t small_columns(inlay_element_type type, std::size_t dim)
{
    return dim * (type == INLAY_F32 ? 1 : type == INLAY_U4_ROWWISE ? 8 : 4);
}

// The shapes that are measured unless others are asked for.
constexpr Shape default_shapes[] = {
    // Prompts of many sequences: outputs from 4 MiB to 256 MiB.
    {prompts, 32, 512, 64, 100000},
    {prompts, 32, 512, 512, 50000, 0, more_threads},
    {prompts, 32, 512, 768, 50000},
    {prompts, 8, 2048, 4096, 128000},
    {prompts, 8, 8192, 1024, 32000},
    // No batch over which a position row could be shared.
    {prompts, 1, 2048, 4096, 32000, 0, more_threads},
    // In cache: decoding, short prompts, one token.
    {prompts, 64, 1, 4096, 32000},
    {prompts, 32, 8, 512, 50000, 0, more_threads},
    {prompts, 1, 128, 512, 50000, 0, more_threads},
    {prompts, 1, 1, 512, 50000},
    // NumPy's large arrays begin at 16 mod 64; rows of an odd dim begin anywhere.
    {prompts, 32, 512, 512, 50000, 16},
    {prompts, 32, 512, 511, 50000},
    // From 10^2 to 10^6 tokens, two steps a decade.
    {growing, 10, 10, 512, 50000},
    {growing, 10, 32, 512, 50000},
    {growing, 10, 100, 512, 50000},
    {growing, 10, 316, 512, 50000},
    {growing, 10, 1000, 512, 50000},
    {growing, 10, 3162, 512, 50000},
    {growing, 10, 10000, 512, 50000},
    {growing, 10, 31623, 512, 50000},
    {growing, 10, 100000, 512, 50000},
    // Servers that decode.
    {decoding, 16, 1, 512, 50000},
    {decoding, 64, 1, 512, 50000},
    {decoding, 16, 1, 4096, 50000},
    {decoding, 64, 1, 4096, 50000},
    // Outputs of 0.6 to 184 MB. Which stores are faster, and where that changes?
    {forced, 1, 200, 768, 50000, 0, more_threads},
    {forced, 1, 512, 1024, 50000, 0, more_threads},
    {forced, 4, 400, 768, 50000, 0, more_threads},
    {forced, 1, 2048, 1024, 50000, 0, more_threads},
    {forced, 24, 300, 640, 60000, 0, more_threads},
    {forced, 96, 128, 384, 30000, 0, more_threads},
    {forced, 1, 2048, 4096, 32000, 0, more_threads},
    {forced, 12, 700, 1280, 40000, 0, more_threads},
    {forced, 32, 512, 1024, 50000, 0, more_threads},
    {forced, 10, 1024, 2048, 32000, 0, more_threads},
    {forced, 8, 2048, 1536, 32000, 0, more_threads},
    {forced, 6, 3000, 2560, 20000, 0, more_threads},
    // Tables of fewer bits than floats, outputs of 32 MiB and more.
    {compact, 32, 512, 512, 50000},
    {compact, 32, 512, 1024, 32000},
    {compact, 8, 2048, 4096, 8000},
    {compact, 32, 512, 512, 50000, 16},
    // Tables larger than the caches, the table of a prompt, and one that the scalar kernels can compute in reasonable
    // time.
    {tables, 1, 65536, 512, 0, 0, more_threads},
    {tables, 1, 32768, 768, 0},
    {tables, 1, 32768, 1024, 0},
    {tables, 1, 16384, 4096, 0},
    {tables, 1, 512, 512, 0, 0, more_threads},
    {tables, 1, 128, 512, 0},
    {tables, 1, 16, 64, 0},
};

// Returns the shapes of the series `small`.
std::vector<Shape> small_shapes();

// Returns the bytes that the scales of a row have in an array of their own.
inline std::size_t scale_bytes(const Shape &shape)
{
    return shape.type == INLAY_E4M3_E8M0 ? shape.dim / 32 : 0;
}

// Returns the shapes of the series `strategic`.
std::vector<Shape> strategic_shapes();

// Returns the shapes of the series `cold` and `warm`, and the bytes of the rows of their tables, which are float32.
std::vector<Shape> cold_shapes();
constexpr std::size_t cold_widths[] = {160, 264, 2048};

// Returns the shapes of the series `hashed`.
std::vector<Shape> hashed_shapes();

// The classes of random shapes, and the ratios that are the targets for the worst of each.
enum class RandomClass { batch, one_sequence, in_cache };
constexpr RandomClass random_classes[] = {RandomClass::batch, RandomClass::one_sequence, RandomClass::in_cache};

// Returns the class of a random shape, which its sizes alone decide.
RandomClass random_class(const Shape &shape);

// Returns `count` shapes of the series `drawn` that depend on the seed alone, a third of them of each class.
std::vector<Shape> random_shapes(std::uint64_t seed, std::size_t count);

// Returns the name of a shape in the rows of results. Names never change, so that runs of different versions can be
// compared: hence "_stored" for tables of 16-bit and quantised types.
std::string shape_name(const Shape &shape);
