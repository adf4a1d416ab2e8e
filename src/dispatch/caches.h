/* SPDX-License-Identifier: MIT */
/*
 * The data caches of one core, as the CPU or the operating system reports them. A virtual machine may report an L3 that
 * it shares with many others: thresholds are never derived from it.
 */
#ifndef INLAY_DISPATCH_CACHES_H
#define INLAY_DISPATCH_CACHES_H

#include <stddef.h>
#include <stdint.h>

enum { INLAY_CACHE_LEVELS = 3 };

/* Sizes in bytes by level, L1 first. 0: no report. */
struct inlay_caches {
    size_t bytes[INLAY_CACHE_LEVELS];
};

/* Returns the caches of this CPU: by CPUID on x86, and by Linux's sysfs where there is no CPUID or it reports no L2. It
   makes system calls. */
struct inlay_caches inlay_caches(void);

/* Adds the cache that registers eax, ebx and ecx of CPUID leaf 4 or 0x8000001D describe. Returns 0 if they are past the
   last cache. */
int inlay_caches_add_cpuid(struct inlay_caches *caches, uint32_t eax, uint32_t ebx, uint32_t ecx);

/* Returns the caches that files index<i>/level, type and size in a folder describe, as sysfs has them. */
struct inlay_caches inlay_caches_of_folder(const char *folder);

#endif
