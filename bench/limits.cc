// SPDX-License-Identifier: MIT
//
// The loops that run everywhere, and the choice between them and those of limits_x86.cc. This file is compiled for
// every host, so it has no intrinsics.
#include "limits.h"

static void scale_plain(float *x, std::size_t n, float factor)
{
    for (std::size_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void add_plain(float *out, const float *x, const float *y, std::size_t n)
{
    for (std::size_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

static constexpr LimitLoops plain = {nullptr, nullptr, nullptr, scale_plain, add_plain};

const LimitLoops &limit_loops()
{
#if defined __x86_64__
    static const LimitLoops *const x86 = limit_loops_x86();
    if (x86)
        return *x86;
#endif
    return plain;
}
