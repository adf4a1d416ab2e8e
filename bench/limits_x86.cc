// SPDX-License-Identifier: MIT
//
// The limits in the widest registers of this CPU. Compiled on x86-64 only, for the baseline: each function names its
// target itself and runs only where the CPU has it. No code of the library is used.
//
// Non-temporal stores write whole cache lines only, whatever the width of a register: a line that is written partly by
// non-temporal and partly by cached stores goes to memory twice, and rows at any address took twice as long.
#include "limits.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

static constexpr std::size_t line_bytes = 64;
static constexpr std::size_t line = line_bytes / sizeof(float);

// Returns how many floats lie before the next cache line, at most n.
static std::size_t before_line(const float *out, std::size_t n)
{
    return std::min(n, (0 - reinterpret_cast<std::uintptr_t>(out)) % line_bytes / sizeof *out);
}

// Copies the floats of a row that fill no whole line.
static void copy_end(float *out, const float *in, std::size_t n)
{
    if (n)
        std::memcpy(out, in, n * sizeof *out);
}

[[gnu::target("avx512f")]] static void copy_nt_avx512(float *out, const float *table, const std::int32_t *ids,
                                                      std::size_t rows, std::size_t dim)
{
    for (; rows; rows--, ids++, out += dim) {
        const float *row = table + static_cast<std::size_t>(*ids) * dim;
        std::size_t i = before_line(out, dim);
        copy_end(out, row, i);
        for (; i + line <= dim; i += line)
            _mm512_stream_ps(out + i, _mm512_loadu_ps(row + i));
        copy_end(out + i, row + i, dim - i);
    }
    _mm_sfence();
}

[[gnu::target("avx2")]] static void copy_nt_avx2(float *out, const float *table, const std::int32_t *ids,
                                                 std::size_t rows, std::size_t dim)
{
    for (; rows; rows--, ids++, out += dim) {
        const float *row = table + static_cast<std::size_t>(*ids) * dim;
        std::size_t i = before_line(out, dim);
        copy_end(out, row, i);
        for (; i + line <= dim; i += line) {
            _mm256_stream_ps(out + i, _mm256_loadu_ps(row + i));
            _mm256_stream_ps(out + i + 8, _mm256_loadu_ps(row + i + 8));
        }
        copy_end(out + i, row + i, dim - i);
    }
    _mm_sfence();
}

[[gnu::target("avx512f")]] static void fill_nt_avx512(float *out, std::size_t n)
{
    std::size_t i = before_line(out, n);
    std::fill_n(out, i, 1.0f);
    for (; i + line <= n; i += line)
        _mm512_stream_ps(out + i, _mm512_set1_ps(1));
    std::fill_n(out + i, n - i, 1.0f);
    _mm_sfence();
}

[[gnu::target("avx2")]] static void fill_nt_avx2(float *out, std::size_t n)
{
    std::size_t i = before_line(out, n);
    std::fill_n(out, i, 1.0f);
    for (; i + line <= n; i += line) {
        _mm256_stream_ps(out + i, _mm256_set1_ps(1));
        _mm256_stream_ps(out + i + 8, _mm256_set1_ps(1));
    }
    std::fill_n(out + i, n - i, 1.0f);
    _mm_sfence();
}

// Returns the 64 bytes at offset `at` of a row of `stride` bytes, or its last 64 bytes if fewer follow.
static const unsigned char *line_of(const unsigned char *row, std::size_t stride, std::size_t at)
{
    return row + std::min(at, stride < line_bytes ? 0 : stride - line_bytes);
}

// Returns how many rows ahead a row is prefetched, as a whole, as the library does: rows are short, and each begins
// with a cache miss. For the last rows the caller prefetches the row itself.
static std::size_t prefetch_distance(std::size_t stride)
{
    return std::clamp<std::size_t>(8192 / stride, 1, 32);
}

static void prefetch(const unsigned char *at)
{
    _mm_prefetch(reinterpret_cast<const char *>(at), _MM_HINT_T0);
}

[[gnu::target("avx512f")]] static void expand_nt_avx512(float *out, const unsigned char *table, std::size_t stride,
                                                        const std::int32_t *ids, std::size_t rows, std::size_t dim)
{
    const std::size_t step = stride * line / dim; // of the row, for a line of the output
    const std::size_t distance = prefetch_distance(stride);
    for (; rows; rows--, ids++, out += dim) {
        const unsigned char *row = table + static_cast<std::size_t>(*ids) * stride;
        const unsigned char *next = table + static_cast<std::size_t>(ids[rows > distance ? distance : 0]) * stride;
        std::size_t i = before_line(out, dim), at = 0;
        std::fill_n(out, i, 1.0f);
        for (; i + line <= dim; i += line, at += step) {
            prefetch(next + at);
            _mm512_stream_ps(out + i, _mm512_loadu_ps(line_of(row, stride, at)));
        }
        std::fill_n(out + i, dim - i, 1.0f);
    }
    _mm_sfence();
}

[[gnu::target("avx2")]] static void expand_nt_avx2(float *out, const unsigned char *table, std::size_t stride,
                                                   const std::int32_t *ids, std::size_t rows, std::size_t dim)
{
    const std::size_t step = stride * line / dim; // of the row, for a line of the output
    const std::size_t distance = prefetch_distance(stride);
    for (; rows; rows--, ids++, out += dim) {
        const unsigned char *row = table + static_cast<std::size_t>(*ids) * stride;
        const unsigned char *next = table + static_cast<std::size_t>(ids[rows > distance ? distance : 0]) * stride;
        std::size_t i = before_line(out, dim), at = 0;
        std::fill_n(out, i, 1.0f);
        for (; i + line <= dim; i += line, at += step) {
            prefetch(next + at);
            const float *from = reinterpret_cast<const float *>(line_of(row, stride, at));
            _mm256_stream_ps(out + i, _mm256_loadu_ps(from));
            _mm256_stream_ps(out + i + 8, _mm256_loadu_ps(from + 8));
        }
        std::fill_n(out + i, dim - i, 1.0f);
    }
    _mm_sfence();
}

[[gnu::target("avx512f")]] static void scale_avx512(float *x, std::size_t n, float factor)
{
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(x + i, _mm512_mul_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(factor)));
    for (; i < n; i++)
        x[i] *= factor;
}

[[gnu::target("avx2")]] static void scale_avx2(float *x, std::size_t n, float factor)
{
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(factor)));
    for (; i < n; i++)
        x[i] *= factor;
}

[[gnu::target("avx512f")]] static void add_avx512(float *out, const float *x, const float *y, std::size_t n)
{
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i, _mm512_add_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(y + i)));
    for (; i < n; i++)
        out[i] = x[i] + y[i];
}

[[gnu::target("avx2")]] static void add_avx2(float *out, const float *x, const float *y, std::size_t n)
{
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
    for (; i < n; i++)
        out[i] = x[i] + y[i];
}

const LimitLoops *limit_loops_x86()
{
    static constexpr LimitLoops avx512 = {copy_nt_avx512, fill_nt_avx512, expand_nt_avx512, scale_avx512, add_avx512};
    static constexpr LimitLoops avx2 = {copy_nt_avx2, fill_nt_avx2, expand_nt_avx2, scale_avx2, add_avx2};
    if (__builtin_cpu_supports("avx512f"))
        return &avx512;
    if (__builtin_cpu_supports("avx2"))
        return &avx2;
    return nullptr;
}
