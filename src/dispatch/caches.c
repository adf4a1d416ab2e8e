/* SPDX-License-Identifier: MIT */
/*
 * Reports of caches. What is too large to be a cache counts as no report.
 */
#include "dispatch/caches.h"

#include "dispatch/cpuid.h"

/* No core has more caches, so a longer list is not believed. */
enum { MOST_CACHES = 16 };

/* No cache is larger than a GiB. */
static void note_cache(struct inlay_caches *caches, uint64_t level, uint64_t bytes)
{
    if (level >= 1 && level <= INLAY_CACHE_LEVELS && bytes <= (uint64_t)1 << 30)
        caches->bytes[level - 1] = (size_t)bytes;
}

int inlay_caches_add_cpuid(struct inlay_caches *caches, uint32_t eax, uint32_t ebx, uint32_t ecx)
{
    enum { NO_CACHE = 0, INSTRUCTIONS = 2 };
    const uint32_t type = eax & 31, level = eax >> 5 & 7;
    if (type == NO_CACHE)
        return 0;
    const uint64_t line = (ebx & 0xfff) + 1, partitions = (ebx >> 12 & 0x3ff) + 1, ways = (ebx >> 22) + 1;
    uint64_t bytes;
    if (__builtin_mul_overflow(line * partitions * ways, (uint64_t)ecx + 1, &bytes))
        bytes = UINT64_MAX;
    if (type != INSTRUCTIONS)
        note_cache(caches, level, bytes);
    return 1;
}

/* AMD's CPUs leave leaf 4 empty and have the same registers in leaf 0x8000001D. */
struct inlay_caches inlay_caches(void)
{
    struct inlay_caches caches = {{0}};
#ifdef INLAY_HAVE_AVX2
    static const uint32_t leaves[] = {4, 0x8000001d};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        struct inlay_cpuid found;
        uint32_t n = 0;
        while (n < MOST_CACHES && inlay_cpuid(leaves[i], n, &found) &&
               inlay_caches_add_cpuid(&caches, found.eax, found.ebx, found.ecx))
            n++;
        if (n > 0)
            break;
    }
#endif
    return caches;
}
