/* SPDX-License-Identifier: MIT */
/*
 * Where CPUs that run the same kernels differ, beyond what they report themselves: figures measured on kinds of CPUs.
 */
#ifndef INLAY_DISPATCH_CPU_H
#define INLAY_DISPATCH_CPU_H

#include <inlay/inlay.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a kind of CPU begins with, before a layer has measured itself. */
struct inlay_cpu {
    const char *kind;          /* such as "AMD Zen 4"; null: none of those measured */
    bool narrow_moves;         /* float32 rows in L2 move faster by 32 bytes at once than by longer registers */
    size_t stream_bytes;       /* as in inlay_tuning; 0: was not measured, and layers learn it */
    size_t compute_bytes;      /* as in inlay_tuning, for vectors of up to 8 floats */
    size_t compute_bytes_wide; /* the same for vectors of 16 floats */
    inlay_prefetch short_rows; /* of less than INLAY_LONG_ROW_BYTES */
    inlay_prefetch long_rows;
};

/* Rows that take few walks through the page table for their bytes. */
enum { INLAY_LONG_ROW_BYTES = 8192 };

/* What an x86-64 CPU says of itself; zeros of any other. */
struct inlay_cpu_facts {
    bool intel, amd;
    uint32_t signature; /* family and model: eax of CPUID's leaf 1 */
    bool avx512f, avx512vp2intersect, avx512fp16;
};

/* Returns the figures of the kind of CPU that these facts are of. */
const struct inlay_cpu *inlay_cpu_of(const struct inlay_cpu_facts *facts);

/* Returns the figures of this CPU's kind. It asks CPUID, which a virtual machine answers slowly. */
const struct inlay_cpu *inlay_cpu(void);

/* Writes the name that the CPU gives itself as text [size], which ends with a null character; empty without one. */
void inlay_cpu_name(char *text, size_t size);

#endif
