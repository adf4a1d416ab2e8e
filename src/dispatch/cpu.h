/* SPDX-License-Identifier: MIT */
/*
 * CPU detection, and measured settings of CPU families that run the same kernels but differ in speed.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initial settings for a CPU family, before self-tuning. */
struct inlay_cpu {
    const char *kind;          /* e.g. "AMD Zen 4"; null if not measured */
    bool narrow_transfers;     /* in L2, float32 rows move faster by 32 bytes at a time than by wider registers */
    size_t compute_bytes;      /* as in inlay_tuning */
    inlay_prefetch short_rows; /* for rows of less than INLAY_LONG_ROW_BYTES */
    inlay_prefetch long_rows;
};

/* Rows that need few page table walks for their size. */
enum { INLAY_LONG_ROW_BYTES = 8192 };

/* CPUID's data on x86-64; zeros on other CPUs. */
struct inlay_cpu_facts {
    bool intel, amd;
    uint32_t signature; /* family and model: eax of CPUID's leaf 1 */
    bool avx512f, avx512vp2intersect, avx512fp16;
};

/* Returns the settings of the CPU family that these facts belong to. */
const struct inlay_cpu *inlay_cpu_of(const struct inlay_cpu_facts *facts);

/* Returns the settings of this CPU's family. The first call executes CPUID, which is slow in virtual machines. */
const struct inlay_cpu *inlay_cpu(void);

/* Returns the size of L2, clamped to plausible values. The first call executes CPUID. */
size_t inlay_l2_bytes(void);

/* Same for a reported size; 0: no report. */
size_t inlay_l2_bytes_of(size_t reported);

/* Cached results of inlay_cpu() and inlay_l2_bytes(); null and 0 at first. Relaxed order suffices: the pointer is to
   constant data, and racing threads find the same values. Set by tests. */
extern _Atomic(const struct inlay_cpu *) inlay_cpu_found;
extern _Atomic(size_t) inlay_l2_found;

enum { INLAY_CACHE_LEVELS = 3 };

/* Sets the sizes of a core's data caches by level, L1 first, as reported by x86-64 CPUs; 0 if not reported. A virtual
   machine may report an L3 that it shares with many others, so no threshold is derived from it. */
void inlay_cpu_caches(size_t bytes[INLAY_CACHE_LEVELS]);

/* Records the cache described by registers eax, ebx and ecx of CPUID's leaf 4 or 0x8000001D. Implausibly large sizes
   are ignored. Returns false past the last cache. */
bool inlay_note_cache(size_t bytes[INLAY_CACHE_LEVELS], uint32_t eax, uint32_t ebx, uint32_t ecx);

/* Sets `text` to the CPU's own name, null-terminated; empty if it has none. */
enum { INLAY_CPU_NAME_BYTES = 48 };
void inlay_cpu_name(char text[INLAY_CPU_NAME_BYTES]);
