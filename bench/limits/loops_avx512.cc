// SPDX-License-Identifier: MIT
//
// The bare loops for AVX-512. Compiled for the baseline: each function names its own target, and loops.cc calls it only
// if the CPU supports it.
#include "limits/loops.h"

#include <algorithm>
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

#include "limits/loops_body.h"

const LimitLoops limit_loops_avx512 = {true, move, fill_nt, scale, scale_nt, add_floats, sum};
