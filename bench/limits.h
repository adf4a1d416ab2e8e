// SPDX-License-Identifier: MIT
//
// The loops that kernels are compared with: bare copies and fills, and the separate passes that a fused one replaces.
// They use no code of the library on purpose. Where x86 has wider registers or non-temporal stores, limits_x86.cc
// supplies the loops.
#ifndef INLAY_BENCH_LIMITS_H
#define INLAY_BENCH_LIMITS_H

#include <cstddef>
#include <cstdint>

struct LimitLoops {
    // out[i, :] = table[ids[i], :] by non-temporal stores; null where this machine has none.
    void (*copy_nt)(float *out, const float *table, const std::int32_t *ids, std::size_t rows, std::size_t dim);
    // out[:] = 1 by non-temporal stores, or null.
    void (*fill_nt)(float *out, std::size_t n);
    // Reads row ids[i] of the table, of `stride` bytes, with prefetch, and writes floats that depend on it to
    // out[i, :] by non-temporal stores; or null.
    void (*expand_nt)(float *out, const unsigned char *table, std::size_t stride, const std::int32_t *ids,
                      std::size_t rows, std::size_t dim);
    // x[:] *= factor
    void (*scale)(float *x, std::size_t n, float factor);
    // out[:] = x[:] + y[:]; out may be x
    void (*add)(float *out, const float *x, const float *y, std::size_t n);
};

// Returns the fastest loops that this machine runs.
const LimitLoops &limit_loops();

// Returns the loops of limits_x86.cc, or null where the CPU has neither AVX-512 nor AVX2.
const LimitLoops *limit_loops_x86();

#endif
