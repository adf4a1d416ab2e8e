// SPDX-License-Identifier: MIT
//
// The two costs of exact sinusoids that no row of the table shows: the fallback rate, which is the fraction of entries
// that the kernels leave undecided and the exact integer path computes, and the time to create a sinusoid.
#ifndef INLAY_BENCH_FALLBACK_RATE_H
#define INLAY_BENCH_FALLBACK_RATE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns the fraction of entries that the best ISA leaves undecided, in 2^22 / dim rows of float32 from position 0.
double fallback_rate(double base, size_t dim);

// Returns the shortest of five creations of a sinusoid, in seconds.
double seconds_to_create(size_t dim);

#ifdef __cplusplus
}
#endif

#endif
