// SPDX-License-Identifier: MIT
//
// The shapes that are measured. To measure another one, add a line to the table. fixture.h gives a shape its memory,
// rounds.h times it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <inlay/inlay.h>

#include "shapes/ids.h"
#include "shapes/pages.h"

// The purpose of a shape. Selects its operations (operations.cc) and the contents of its fixture.
enum Series : unsigned {
    prompts = 1,     // tokens; every operation on them
    tables = 2,      // a sinusoid table [seq, dim], no tokens
    growing = 4,     // from few tokens to many: only the fused pass, to check that its ratio stays the same
    decoding = 8,    // one token for each of many sequences, at cached positions
    compact = 16,    // tokens from a table of each 16-bit and quantized type
    small = 32,      // gathers of short rows from a table larger than any cache, with different ids in each call
    drawn = 64,      // prompts of random sizes, chosen by a seed: only the fused pass
    forced = 128,    // prompts: the fused pass with automatic, cached and non-temporal stores
    hashed = 256,    // hashed n-grams: short rows from a table of 8 GiB, different ones in each call
    strategic = 512, // prompts: layers with fixed prefetch strategies, and self-tuning layers
    cold = 1024,     // random rows of a file on disk
    warm = 2048,     // the same file in memory
    encoding = 4096, // tokens of BERT-like encoders: learned positions, segments, norms
    rotating = 8192, // heads of queries and keys, without a table
};

enum Threads : bool { one_thread = false, more_threads = true }; // also measured on 2, and on all cores

struct Shape {
    Series series;
    std::size_t batch;
    std::size_t seq;
    std::size_t dim;
    std::size_t vocab;      // rows of the embedding table; 0: no tokens
    std::size_t offset = 0; // bytes past a page where the table and the output start
    Threads threads = one_thread;
    PageSize pages = huge_pages;
    // For `hashed` shapes: rows per token, and the types of the table and of the output. For `rotating` shapes: columns
    // of a head, and the type of heads.
    std::size_t columns = 0;
    inlay_element_type type = INLAY_F32;
    inlay_element_type out_type = INLAY_F32;
    Ids ids = Ids::uniform;
};

// Returns the size of an output element, in bytes.
inline std::size_t out_bytes(const Shape &shape)
{
    return shape.out_type == INLAY_F32 ? 4 : 2;
}

// The table types of `small` shapes. A shape of dim d reads float32 rows of n = 4 d bytes. Quantized rows have as many
// columns as fill n bytes with codes; the rowwise types add 8 or 4 bytes.
constexpr inlay_element_type small_types[] = {INLAY_F32, INLAY_I8, INLAY_U8_ROWWISE, INLAY_U4_ROWWISE};

constexpr std::size_t small_columns(inlay_element_type type, std::size_t dim)
{
    return dim * (type == INLAY_F32 ? 1 : type == INLAY_U4_ROWWISE ? 8 : 4);
}

// The shapes that are measured by default.
constexpr Shape default_shapes[] = {
    // Prompts of many sequences: outputs from 4 MiB to 256 MiB.
    {prompts, 32, 512, 64, 100000},
    {prompts, 32, 512, 512, 50000, 0, more_threads},
    {prompts, 32, 512, 768, 50000},
    {prompts, 8, 2048, 4096, 128000},
    {prompts, 8, 8192, 1024, 32000},
    // A batch of 1, so no sequences share position rows.
    {prompts, 1, 2048, 4096, 32000, 0, more_threads},
    // In cache: decoding, short prompts, one token.
    {prompts, 64, 1, 4096, 32000},
    {prompts, 32, 8, 512, 50000, 0, more_threads},
    {prompts, 1, 128, 512, 50000, 0, more_threads},
    {prompts, 1, 1, 512, 50000},
    // NumPy's large arrays start at 16 mod 64; rows of an odd dim start anywhere.
    {prompts, 32, 512, 512, 50000, 16},
    {prompts, 32, 512, 511, 50000},
    // From 10^2 to 10^6 tokens, two steps per decade.
    {growing, 10, 10, 512, 50000},
    {growing, 10, 32, 512, 50000},
    {growing, 10, 100, 512, 50000},
    {growing, 10, 316, 512, 50000},
    {growing, 10, 1000, 512, 50000},
    {growing, 10, 3162, 512, 50000},
    {growing, 10, 10000, 512, 50000},
    {growing, 10, 31623, 512, 50000},
    {growing, 10, 100000, 512, 50000},
    // Decoding servers.
    {decoding, 16, 1, 512, 50000},
    {decoding, 64, 1, 512, 50000},
    {decoding, 16, 1, 4096, 50000},
    {decoding, 64, 1, 4096, 50000},
    // Outputs of 0.6 to 184 MB, to find where non-temporal stores become faster.
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
    // Encoders: a query, a passage, batches in L2, L3 and memory.
    {encoding, 1, 16, 384, 30522},
    {encoding, 1, 128, 768, 30522, 0, more_threads},
    {encoding, 1, 512, 384, 30522},
    {encoding, 8, 128, 768, 30522, 0, more_threads},
    {encoding, 32, 128, 768, 30522},
    {encoding, 32, 512, 768, 30522, 0, more_threads},
    // Tables with fewer bits than float32, outputs of 32 MiB or more.
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

// Returns the bytes of a row's scales in a separate array.
inline std::size_t scale_bytes(const Shape &shape)
{
    return shape.type == INLAY_E4M3_E8M0 ? shape.dim / 32 : 0;
}

// Returns the shapes of the series `strategic`.
std::vector<Shape> strategic_shapes();

// Returns the shapes of the series `cold` and `warm`. cold_widths are the bytes of their float32 rows.
std::vector<Shape> cold_shapes();
constexpr std::size_t cold_widths[] = {160, 264, 2048};

// Returns the shapes of the series `hashed`.
std::vector<Shape> hashed_shapes();

// Returns the shapes of the series `rotating`: as many tokens as a step of decoding or a prompt has, then other heads.
std::vector<Shape> rotating_shapes();
constexpr std::size_t query_heads = 32, key_heads = 8;

// The classes of random shapes. summary.cc has their targets.
enum class RandomClass { batch, one_sequence, in_cache };
constexpr RandomClass random_classes[] = {RandomClass::batch, RandomClass::one_sequence, RandomClass::in_cache};

// Returns the class of a random shape, which depends only on its sizes.
RandomClass random_class(const Shape &shape);

// Returns `count` shapes of the series `drawn`, a third of them of each class. They depend only on the seed.
std::vector<Shape> random_shapes(std::uint64_t seed, std::size_t count);

// Returns the name of a shape in the results. Names never change, so runs of different versions can be compared; hence
// "_stored" for tables of 16-bit and quantized types.
std::string shape_name(const Shape &shape);
