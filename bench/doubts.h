// SPDX-License-Identifier: MIT
//
// What decides the cost of exact sinusoids beside storing them: how many entries the kernels leave to the integer path,
// and how long their frequencies take. Counted and timed once, by main.cc, before any round.
#ifndef INLAY_BENCH_DOUBTS_H
#define INLAY_BENCH_DOUBTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The share of entries that the best ISA leaves in doubt, in 2^22 / dim rows of float32 from position 0.
double share_in_doubt(double base, size_t dim);

// The shortest of a few creations of a handle, in seconds.
double seconds_to_create(size_t dim);

#ifdef __cplusplus
}
#endif

#endif
