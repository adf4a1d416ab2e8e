/* SPDX-License-Identifier: MIT */
/*
 * What the CPU says of itself, and where CPUs that run the same kernels differ beyond that: figures measured on kinds
 * of CPUs.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a kind of CPU begins with, before a layer has measured itself. */
struct inlay_cpu {
    const char *kind;          /* such as "AMD Zen 4"; null: none of those measured */
    bool narrow_moves;         /* float32 rows in L2 move faster by 32 bytes at once than by longer registers */
    size_t compute_bytes;      /* as in inlay_tuning */
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

/* Returns the figures of this CPU's kind. The first call asks CPUID, which a virtual machine answers slowly. */
const struct inlay_cpu *inlay_cpu(void);

/* Returns the bytes of L2, within what is plausible. The first call asks CPUID. */
size_t inlay_l2_bytes(void);

/* Returns the same of an L2 of `reported` bytes; 0: there is no report. */
size_t inlay_l2_bytes_of(size_t reported);

/* What the first calls of these two have found; null and 0 before. Relaxed order suffices: the one points to constant
   data, and threads that race find the same. Tests set them. */
extern _Atomic(const struct inlay_cpu *) inlay_cpu_found;
extern _Atomic(size_t) inlay_l2_found;

enum { INLAY_CACHE_LEVELS = 3 };

/* Writes the bytes of the data caches of a core by level, L1 first, as an x86-64 CPU reports them; 0: no report. A
   virtual machine may report an L3 that it shares with many others: no threshold is derived from it. */
void inlay_cpu_caches(size_t bytes[INLAY_CACHE_LEVELS]);

/* Notes the cache that registers eax, ebx and ecx of CPUID's leaf 4 or 0x8000001D describe. What is too large to be a
   cache is no report. Returns false if they are past the last cache. */
bool inlay_note_cache(size_t bytes[INLAY_CACHE_LEVELS], uint32_t eax, uint32_t ebx, uint32_t ecx);

/* Writes the name that the CPU gives itself, which ends with a null character; empty without one. */
enum { INLAY_CPU_NAME_BYTES = 48 };
void inlay_cpu_name(char text[INLAY_CPU_NAME_BYTES]);
