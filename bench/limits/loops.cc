// SPDX-License-Identifier: MIT
//
// The bare loops in plain C++, for CPUs without loops of their own, and the selection of the loops for this machine.
// Compiled for every host, so it has no intrinsics.
#include "limits/loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#define TARGET
#define WORD inline

struct Line {
    float floats[16];
};

WORD static Line load(const void *from)
{
    Line x;
    std::memcpy(x.floats, from, sizeof x.floats);
    return x;
}

WORD static void store(float *to, const Line &x)
{
    std::memcpy(to, x.floats, sizeof x.floats);
}

// Plain C++ has no non-temporal stores.
WORD static void stream(float *to, const Line &x)
{
    store(to, x);
}

WORD static void fence()
{
}

WORD static Line add(const Line &x, const Line &y)
{
    Line sum;
    for (std::size_t i = 0; i < 16; i++)
        sum.floats[i] = x.floats[i] + y.floats[i];
    return sum;
}

WORD static Line multiply(const Line &x, const Line &y)
{
    Line product;
    for (std::size_t i = 0; i < 16; i++)
        product.floats[i] = x.floats[i] * y.floats[i];
    return product;
}

WORD static Line broadcast(float x)
{
    Line all;
    std::fill_n(all.floats, 16, x);
    return all;
}

// Sums in double: lane j adds columns j, j + 16, ...
struct Sums {
    double lanes[16];
};

WORD static Sums zero_sums()
{
    return {};
}

WORD static Sums widen(const Line &x)
{
    Sums wide;
    std::copy_n(x.floats, 16, wide.lanes);
    return wide;
}

WORD static Sums add(const Sums &x, const Sums &y)
{
    Sums sum;
    for (std::size_t i = 0; i < 16; i++)
        sum.lanes[i] = x.lanes[i] + y.lanes[i];
    return sum;
}

WORD static Sums add_square(const Sums &sums, const Sums &x)
{
    Sums sum;
    for (std::size_t i = 0; i < 16; i++)
        sum.lanes[i] = sums.lanes[i] + x.lanes[i] * x.lanes[i];
    return sum;
}

WORD static double total(Sums sums)
{
    for (std::size_t half = 8; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; i++)
            sums.lanes[i] += sums.lanes[i + half];
    return sums.lanes[0];
}

#include "limits/loops_body.h"

const LimitLoops limit_loops_plain = {false, move, fill_nt, scale, scale_nt, add_floats, sum};

const LimitLoops &limit_loops_of([[maybe_unused]] const char *isa)
{
#if defined __x86_64__
    if (!std::strcmp(isa, "avx512"))
        return limit_loops_avx512;
    if (!std::strcmp(isa, "avx2"))
        return limit_loops_avx2;
#endif
    return limit_loops_plain;
}

static const LimitLoops &find_loops()
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return limit_loops_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return limit_loops_avx2;
#endif
    return limit_loops_plain;
}

const LimitLoops &limit_loops()
{
    static const LimitLoops &found = find_loops();
    return found;
}
