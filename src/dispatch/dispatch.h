/* SPDX-License-Identifier: MIT */
/*
 * Selects the kernels at the first call, by CPU. Tests and benchmarks can override the selection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct inlay_kernels;

/* Returns the table in use, selected by the first call. */
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

/* Returns the features supported by this CPU and its operating system, or'ed together. */
unsigned inlay_dispatch_features(void);

/* Returns the compiled-in tables, best first and scalar last; null past the end. Sets *runs to true if a CPU with those
   features can run the table. */
const struct inlay_kernels *inlay_dispatch_with(size_t index, unsigned features, bool *runs);

/* Same for this CPU. */
const struct inlay_kernels *inlay_dispatch_at(size_t index, bool *runs);

/* For tests and benchmarks: uses this table from now on. Null selects again, by CPU and INLAY_ISA. */
void inlay_dispatch_use(const struct inlay_kernels *kernels);
