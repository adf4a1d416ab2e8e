// SPDX-License-Identifier: MIT
//
// The loops that kernels are held against: bare copies and fills, and the separate passes that a fused one replaces.
// They stand apart from the library on purpose and use none of its code; where x86 has wider registers or stores that
// go past the caches, limits_x86.cc supplies them.
#ifndef INLAY_BENCH_LIMITS_H
#define INLAY_BENCH_LIMITS_H

#include <cstddef>
#include <cstdint>

struct LimitLoops {
    // out[i, :] = table[ids[i], :], stored past the caches; null where this machine has no such stores.
    void (*copy_nt)(float *out, const float *table, const std::int32_t *ids, std::size_t rows, std::size_t dim);
    // out[:] = 1, stored past the caches; null likewise.
    void (*fill_nt)(float *out, std::size_t n);
    // Reads row ids[i] of the table, `stride` bytes each, for every i, and stores out[i, :], something that
    // depends on them, past the caches; null likewise.
    void (*expand_nt)(float *out, const unsigned char *table, std::size_t stride, const std::int32_t *ids,
                      std::size_t rows, std::size_t dim);
    // x[:] *= factor
    void (*scale)(float *x, std::size_t n, float factor);
    // out[:] = x[:] + y[:]; out may be x
    void (*add)(float *out, const float *x, const float *y, std::size_t n);
};

// The fastest that this machine runs.
const LimitLoops &limit_loops();

// limits_x86.cc: null where the CPU has neither AVX-512 nor AVX2.
const LimitLoops *limit_loops_x86();

#endif
