// SPDX-License-Identifier: MIT
//
// The bare loops that kernels are compared with: copies, fills, and loops over an operation's streams without its
// arithmetic. They deliberately share no code with the library. loops_body.h defines them once for registers of any
// width.
#pragma once

#include <cstddef>
#include <cstdint>

// Which rows of the table a loop prefetches, and when.
enum class Prefetch {
    none,
    t0_line_ahead, // to L1: a line of a later row per line moved
    t1_line_ahead, // to L2: a line of a later row per line moved
    t1_ahead,      // to L2: a later row, whole
    t1_blocks,     // to L2: all rows of a block of at most 128 KiB, before the first of them is moved
};

enum class Stores { cached, non_temporal };

// How a loop moves rows.
struct Mode {
    Prefetch prefetch;
    std::size_t rows; // distance, or rows per block
    Stores stores;
};

// The norm of the sums, as the library defines it: statistics in double, application in float32.
enum class Norm { none, layer, rms };

// The output row of the i-th visited row, and the rows that are added to it.
struct Place {
    std::uint32_t position, out, segment = 0;
};

// The rows a loop moves. It reads row ids[i] of the table, with its scales and the rows to add, and writes `dim` floats
// that depend on all of them. Nothing is dequantized.
struct BareRows {
    float *out{};
    std::size_t dim{};
    std::size_t rows{};
    const std::int32_t *ids{}; // [rows]
    const unsigned char *table{};
    std::size_t stride{}; // bytes per row of the table
    // Null, or scale_bytes per row of the table.
    const unsigned char *scales{};
    std::size_t scale_bytes{};
    // Null, or [rows]: the output row, and the rows of `positions` and `segments` to add. Without places, row i goes to
    // row i. Segments need positions.
    const Place *places{};
    const float *positions{}, *segments{};
    // A norm needs positions, gamma [dim] and, for LayerNorm, beta [dim]. dim is at most max_normed_dim. Columns after
    // the last whole line are counted twice.
    Norm norm{};
    const float *gamma{}, *beta{};
    float epsilon{};
};

constexpr std::size_t max_normed_dim = 4096;

struct LimitLoops {
    bool non_temporal; // true if the loops named nt, and move() on request, use non-temporal stores
    void (*move)(const BareRows &rows, Mode mode);
    // out[:] = 1
    void (*fill_nt)(float *out, std::size_t n);
    // x[:] *= factor
    void (*scale)(float *x, std::size_t n, float factor);
    void (*scale_nt)(float *x, std::size_t n, float factor);
    // out[:] = x[:] + y[:]; out may be x
    void (*add)(float *out, const float *x, const float *y, std::size_t n);
    // Returns the sum of x[:], in any order. Stands in for a consumer's read.
    float (*sum)(const float *x, std::size_t n);
};

// Returns the loops for the widest registers of this machine.
const LimitLoops &limit_loops();

// Returns the loops for the registers of an ISA that this machine supports.
const LimitLoops &limit_loops_of(const char *isa);

// The loops for one register width.
extern const LimitLoops limit_loops_plain;
extern const LimitLoops limit_loops_avx2;
extern const LimitLoops limit_loops_avx512;
