/* SPDX-License-Identifier: MIT */
/*
 * Which kernels run: chosen by CPU at the first call. Tests and benchmarks choose for themselves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct inlay_kernels;

/* Returns the table in use, which the first call chooses. */
const struct inlay_kernels *inlay_dispatch(void);

/* Features of CPUs that kernels need. */
enum inlay_feature {
    INLAY_FEATURE_FMA = 1,
    INLAY_FEATURE_F16C = 2,
    INLAY_FEATURE_AVX2 = 4,
    INLAY_FEATURE_AVX512F = 8,
    INLAY_FEATURE_AVX512VL = 16,
    INLAY_FEATURE_AVX512DQ = 32,
    INLAY_FEATURE_AVX512BW = 64,
};

/* Returns the features that this CPU has and its operating system supports, or'ed together. */
unsigned inlay_dispatch_features(void);

/* Returns the tables that are compiled in, the best first and scalar last; null past the end. Sets *runs to whether a
   CPU with those features runs that table. */
const struct inlay_kernels *inlay_dispatch_with(size_t index, unsigned features, bool *runs);

/* Returns the same for this CPU. */
const struct inlay_kernels *inlay_dispatch_at(size_t index, bool *runs);

/* For tests and benchmarks: uses this table from now on. Null chooses again, by CPU and INLAY_ISA. */
void inlay_dispatch_use(const struct inlay_kernels *kernels);
