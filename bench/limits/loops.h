// SPDX-License-Identifier: MIT
//
// The bare loops that kernels are compared with: copies, fills, and loops over the streams of an operation, without its
// arithmetic. They use no code of the library on purpose. loops_body.h defines them once for registers of any width.
#pragma once

#include <cstddef>
#include <cstdint>

// Which rows of a table a loop prefetches, and when.
enum class Prefetch {
    none,
    t0_beside, // to L1: a line of a later row beside each line that is moved
    t1_beside, // to L2: likewise
    t1_ahead,  // to L2: a later row, whole
    t1_blocks, // to L2: all rows of a block, of at most 128 KiB, before the first of them is moved
};

enum class Stores { cached, non_temporal };

// How a loop moves rows.
struct Mode {
    Prefetch prefetch;
    std::size_t rows; // how many rows later, or in a block
    Stores stores;
};

// Where the i-th visited row goes, and which position row is added to it.
struct Place {
    std::uint32_t position, out;
};

// Rows that a loop moves: it reads row ids[i] of the table and whatever belongs to it, and writes `dim` floats that
// depend on all of them. Nothing is dequantised.
struct BareRows {
    float *out{};
    std::size_t dim{};
    std::size_t rows{};
    const std::int32_t *ids{}; // [rows]
    const unsigned char *table{};
    std::size_t stride{}; // bytes of a row of the table
    // Null, or an array with scale_bytes for each row of the table.
    const unsigned char *scales{};
    std::size_t scale_bytes{};
    // Null, or [rows]: the output row and the row of `positions` that is added. Without places row i goes to row i.
    const Place *places{};
    const float *positions{};
};

struct LimitLoops {
    bool non_temporal; // whether those of the loops below that are named nt, and move() if asked to, do such stores
    void (*move)(const BareRows &rows, Mode mode);
    // out[:] = 1
    void (*fill_nt)(float *out, std::size_t n);
    // x[:] *= factor
    void (*scale)(float *x, std::size_t n, float factor);
    void (*scale_nt)(float *x, std::size_t n, float factor);
    // out[:] = x[:] + y[:]; out may be x
    void (*add)(float *out, const float *x, const float *y, std::size_t n);
    // Returns the sum of x[:], in any order: the read of a consumer.
    float (*sum)(const float *x, std::size_t n);
};

// Returns the loops in the widest registers of this machine.
const LimitLoops &limit_loops();

// The loops in registers of one width, for CPUs that have it.
extern const LimitLoops limit_loops_plain;
extern const LimitLoops limit_loops_avx2;
extern const LimitLoops limit_loops_avx512;
