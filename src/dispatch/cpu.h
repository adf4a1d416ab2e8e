/* SPDX-License-Identifier: MIT */
/*
 * Where CPUs that run the same kernels differ, beyond what they report themselves: figures measured on kinds of CPUs.
 */
#ifndef INLAY_DISPATCH_CPU_H
#define INLAY_DISPATCH_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* What was measured on a kind of CPU. */
struct inlay_cpu {
    const char *kind;          /* such as "AMD Zen 4"; null: none of those measured */
    bool narrow_moves;         /* float32 rows in L2 move faster by 32 bytes at once than by longer registers */
    size_t stream_bytes;       /* as in inlay_tuning */
    size_t compute_bytes;      /* as in inlay_tuning, for vectors of up to 8 floats */
    size_t compute_bytes_wide; /* the same for vectors of 16 floats */
};

/* Returns the figures of this CPU's kind. It asks CPUID, which a virtual machine answers slowly. */
const struct inlay_cpu *inlay_cpu(void);

/* Writes the name that the CPU gives itself as text [size], which ends with a null character; empty without one. */
void inlay_cpu_name(char *text, size_t size);

#endif
