/* SPDX-License-Identifier: MIT */
/*
 * Where CPUs that run the same kernels differ. Included by what cuts work.
 */
#ifndef INLAY_CPU_H
#define INLAY_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* What was measured on a kind of CPU. */
struct inlay_cpu {
    bool narrow_moves;         /* within L2, float32 rows move faster by 32 bytes at once than by longer registers */
    size_t stream_bytes;       /* as in inlay_layer_spec */
    size_t compute_bytes;      /* likewise, of vectors of up to 8 floats */
    size_t compute_bytes_wide; /* and of 16 */
};

/* This CPU's kind: some comparisons of what the compiler's runtime has asked CPUID for. */
const struct inlay_cpu *inlay_cpu(void);

#endif
