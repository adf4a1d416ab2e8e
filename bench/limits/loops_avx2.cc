// SPDX-License-Identifier: MIT
//
// The bare loops for AVX2, two registers per cache line. Compiled for the baseline: each function names its own target,
// and loops.cc calls it only if the CPU supports it.
#include "limits/loops.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

#define TARGET [[gnu::target("avx2")]]
#define WORD [[gnu::target("avx2"), gnu::always_inline]] inline

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

#include "limits/loops_body.h"

const LimitLoops limit_loops_avx2 = {true, move, fill_nt, scale, scale_nt, add_floats, sum};
