// SPDX-License-Identifier: MIT
//
// The bare loops for AVX-512. Compiled for the baseline: each function names its own target, and loops.cc calls it only
// if the CPU supports it.
#include "limits/loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

#define TARGET [[gnu::target("avx512f")]]
#define WORD [[gnu::target("avx512f"), gnu::always_inline]] inline

struct Line {
    __m512 floats;
};

WORD static Line load(const void *from)
{
    return {_mm512_loadu_ps(from)};
}

WORD static void store(float *to, const Line &x)
{
    _mm512_storeu_ps(to, x.floats);
}

WORD static void stream(float *to, const Line &x)
{
    _mm512_stream_ps(to, x.floats);
}

WORD static void fence()
{
    _mm_sfence();
}

WORD static Line add(const Line &x, const Line &y)
{
    return {_mm512_add_ps(x.floats, y.floats)};
}

WORD static Line multiply(const Line &x, const Line &y)
{
    return {_mm512_mul_ps(x.floats, y.floats)};
}

WORD static Line broadcast(float x)
{
    return {_mm512_set1_ps(x)};
}

// Sums in double: lane j adds columns j, j + 16, ...
struct Sums {
    __m512d low, high;
};

WORD static Sums zero_sums()
{
    return {_mm512_setzero_pd(), _mm512_setzero_pd()};
}

// Masked forms: gcc 12 warns about the undefined register of the others.
static constexpr __mmask8 all_lanes = 0xff;

template <int half> WORD static __m256d half_of(__m512d x)
{
    return _mm512_maskz_extractf64x4_pd(all_lanes, x, half);
}

WORD static Sums widen(const Line &x)
{
    const __m512d pairs = _mm512_castps_pd(x.floats);
    return {_mm512_maskz_cvtps_pd(all_lanes, _mm256_castpd_ps(half_of<0>(pairs))),
            _mm512_maskz_cvtps_pd(all_lanes, _mm256_castpd_ps(half_of<1>(pairs)))};
}

WORD static Sums add(const Sums &x, const Sums &y)
{
    return {_mm512_add_pd(x.low, y.low), _mm512_add_pd(x.high, y.high)};
}

WORD static Sums add_square(const Sums &sums, const Sums &x)
{
    return {_mm512_fmadd_pd(x.low, x.low, sums.low), _mm512_fmadd_pd(x.high, x.high, sums.high)};
}

WORD static double total(const Sums &sums)
{
    const __m512d eight = _mm512_add_pd(sums.low, sums.high);
    const __m256d four = _mm256_add_pd(half_of<0>(eight), half_of<1>(eight));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#include "limits/loops_body.h"

const LimitLoops limit_loops_avx512 = {true, move, fill_nt, scale, scale_nt, add_floats, sum};
