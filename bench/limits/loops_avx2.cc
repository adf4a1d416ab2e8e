// SPDX-License-Identifier: MIT
//
// The bare loops for AVX2, two registers per cache line. Compiled for the baseline: each function names its own target,
// and loops.cc calls it only if the CPU supports it.
#include "limits/loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

#define TARGET [[gnu::target("avx2,fma")]]
#define WORD [[gnu::target("avx2,fma"), gnu::always_inline]] inline

struct Line {
    __m256 low, high;
};

WORD static Line load(const void *from)
{
    const float *floats = static_cast<const float *>(from);
    return {_mm256_loadu_ps(floats), _mm256_loadu_ps(floats + 8)};
}

WORD static void store(float *to, const Line &x)
{
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + 8, x.high);
}

WORD static void stream(float *to, const Line &x)
{
    _mm256_stream_ps(to, x.low);
    _mm256_stream_ps(to + 8, x.high);
}

WORD static void fence()
{
    _mm_sfence();
}

WORD static Line add(const Line &x, const Line &y)
{
    return {_mm256_add_ps(x.low, y.low), _mm256_add_ps(x.high, y.high)};
}

WORD static Line multiply(const Line &x, const Line &y)
{
    return {_mm256_mul_ps(x.low, y.low), _mm256_mul_ps(x.high, y.high)};
}

WORD static Line broadcast(float x)
{
    return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

// Sums in double: lane j adds columns j, j + 16, ...
struct Sums {
    __m256d lanes[4];
};

WORD static Sums zero_sums()
{
    return {};
}

WORD static Sums widen(const Line &x)
{
    return {{_mm256_cvtps_pd(_mm256_castps256_ps128(x.low)), _mm256_cvtps_pd(_mm256_extractf128_ps(x.low, 1)),
             _mm256_cvtps_pd(_mm256_castps256_ps128(x.high)), _mm256_cvtps_pd(_mm256_extractf128_ps(x.high, 1))}};
}

WORD static Sums add(const Sums &x, const Sums &y)
{
    return {{_mm256_add_pd(x.lanes[0], y.lanes[0]), _mm256_add_pd(x.lanes[1], y.lanes[1]),
             _mm256_add_pd(x.lanes[2], y.lanes[2]), _mm256_add_pd(x.lanes[3], y.lanes[3])}};
}

WORD static Sums add_square(const Sums &sums, const Sums &x)
{
    return {{_mm256_fmadd_pd(x.lanes[0], x.lanes[0], sums.lanes[0]),
             _mm256_fmadd_pd(x.lanes[1], x.lanes[1], sums.lanes[1]),
             _mm256_fmadd_pd(x.lanes[2], x.lanes[2], sums.lanes[2]),
             _mm256_fmadd_pd(x.lanes[3], x.lanes[3], sums.lanes[3])}};
}

WORD static double total(const Sums &sums)
{
    const __m256d four =
        _mm256_add_pd(_mm256_add_pd(sums.lanes[0], sums.lanes[2]), _mm256_add_pd(sums.lanes[1], sums.lanes[3]));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#include "limits/loops_body.h"

const LimitLoops limit_loops_avx2 = {true, move, fill_nt, scale, scale_nt, add_floats, sum};
