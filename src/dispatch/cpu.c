/* SPDX-License-Identifier: MIT */
/*
 * The table of measured CPUs: initial settings of layers, before self-tuning.
 */
#include "dispatch/cpu.h"

#include "base/environment.h"
#include "base/minmax.h"
#include "dispatch/cpuid.h"

#include <string.h>

enum { MIB = 1024 * 1024 };

enum kind { UNMEASURED, ZEN3, ZEN4, ZEN5, INTEL };

static const struct inlay_cpu cpus[] = {
    /* The best compromise over all measured CPUs. */
    [UNMEASURED] = {NULL, false, MIB, INLAY_PREFETCH_L2_LINE_AHEAD_8, INLAY_PREFETCH_L2_LINE_AHEAD_2},

    /* Without AVX-512, in a 2-core virtual machine. Reading 17 to 34 MiB of cached positions takes 0.6 to 0.8 of the
       time of computing them. Prefetching line by line 2 rows ahead, to L1, takes 1.00 to 1.15 times as long as the
       best strategy, blocks of rows 1.16 to 1.56 times. First lines take 1.00 to 1.07 times as long for rows of 4 KiB
       and more, and up to 1.41 times for shorter ones. */
    [ZEN3] = {"AMD Zen 3", false, 1024 * MIB, INLAY_PREFETCH_L1_LINE_AHEAD_2, INLAY_PREFETCH_LINES},

    /* 1 MiB of L2 and 32 MiB of L3, in a 2-core virtual machine. Reading cached positions takes this share of the time
       of computing them: 16 at once, 0.62 for 4 MiB and 0.86 for 8 MiB; 8 at once, 0.41 for 2 MiB and 0.92 for 8 MiB.
       In L2, moves of 64 and of 32 bytes are equally fast. Prefetching line by line takes 1.00 to 1.03 times as long as
       the best strategy for rows of 2 KiB and more (2 rows ahead), and 1.00 to 1.10 times for shorter ones (8 rows
       ahead). */
    [ZEN4] = {"AMD Zen 4", false, 8 * MIB, INLAY_PREFETCH_L2_LINE_AHEAD_8, INLAY_PREFETCH_L2_LINE_AHEAD_2},

    /* 8 cores with 32 MiB of L3. Reading cached positions is faster than computing 16 at once up to 12 MiB, and faster
       than computing 8 at once up to 48 MiB. In L2, moves of 64 bytes take 10 to 20 % less time than moves of 32. */
    [ZEN5] = {"AMD Zen 5", false, 12 * MIB, INLAY_PREFETCH_L2_LINE_AHEAD_8, INLAY_PREFETCH_L2_LINE_AHEAD_2},

    /* 2 MiB of L2. Computing positions is faster than reading those that L2 doesn't hold. In L2, moves of 32 bytes take
       10 % less time than moves of 64. For rows below 8 KiB, other strategies take 1.06 to 1.48 times as long as blocks
       (Emerald Rapids). */
    [INTEL] = {"Intel Xeon (Ice Lake to Emerald Rapids)", true, MIB, INLAY_PREFETCH_L2_BLOCKS,
               INLAY_PREFETCH_L2_LINE_AHEAD_2},
};

/* Intel's servers have family 6: two models of Ice Lake, and from Sapphire Rapids on every CPU with 512-bit float16
   instructions. A hypervisor may hide the model of these. Zen 5 was AMD's first CPU with VP2INTERSECT. Zen 3 and Zen 4
   share family 25; only Zen 4 has AVX-512, which a hypervisor may hide. */
const struct inlay_cpu *inlay_cpu_of(const struct inlay_cpu_facts *facts)
{
    const uint32_t signature = facts->signature;
    const unsigned base = signature >> 8 & 15, family = base == 15 ? base + (signature >> 20 & 255) : base;
    const unsigned model = (signature >> 4 & 15) | (signature >> 12 & 0xf0);
    const bool ice_lake = model == 0x6a || model == 0x6c, zen3 = model < 0x10 || (model >= 0x20 && model < 0x60);
    return &cpus[facts->intel && family == 6 && (ice_lake || facts->avx512fp16) ? INTEL
                 : facts->amd && facts->avx512vp2intersect                      ? ZEN5
                 : facts->amd && family == 25 && facts->avx512f                 ? ZEN4
                 : facts->amd && family == 25 && zen3                           ? ZEN3
                                                                                : UNMEASURED];
}

/* ---- This CPU --------------------------------------------------------------------------------------------------- */

_Atomic(const struct inlay_cpu *) inlay_cpu_found;
_Atomic(size_t) inlay_l2_found;

static const struct inlay_cpu *find_cpu(void)
{
    struct inlay_cpu_facts facts = {.signature = 0};
    /* For tests and benchmarks: behave as on a CPU that was not measured. */
    if (inlay_environment_is("INLAY_CPU", "unknown"))
        return &cpus[UNMEASURED];
#ifdef __x86_64__
    /* Compilers older than a CPU don't know its name, but do know its vendor and its instructions. */
    struct inlay_cpuid found;
    inlay_cpuid(1, 0, &found);
    facts.signature = found.eax;
    facts.intel = __builtin_cpu_is("intel");
    facts.amd = __builtin_cpu_is("amd");
    facts.avx512f = __builtin_cpu_supports("avx512f");
    facts.avx512fp16 = inlay_cpuid(7, 0, &found) && (found.edx >> 23 & 1);
    facts.avx512vp2intersect = __builtin_cpu_supports("avx512vp2intersect");
#endif
    return inlay_cpu_of(&facts);
}

const struct inlay_cpu *inlay_cpu(void)
{
    const struct inlay_cpu *cpu = atomic_load_explicit(&inlay_cpu_found, memory_order_relaxed);
    if (cpu == NULL) {
        cpu = find_cpu();
        atomic_store_explicit(&inlay_cpu_found, cpu, memory_order_relaxed);
    }
    return cpu;
}

/* Without a report: for calls smaller than 1 MiB of L2, prefetching first lines is as fast as prefetching whole rows
   (Zen 4, Zen 5). A size out of range is a hypervisor's mistake, or that of a cache shared by several cores. */
size_t inlay_l2_bytes_of(size_t reported)
{
    return reported > 0 ? inlay_min(inlay_max(reported, MIB / 4), 4 * MIB) : MIB;
}

size_t inlay_l2_bytes(void)
{
    size_t bytes = atomic_load_explicit(&inlay_l2_found, memory_order_relaxed);
    if (bytes == 0) {
        size_t caches[INLAY_CACHE_LEVELS];
        inlay_cpu_caches(caches);
        bytes = inlay_l2_bytes_of(caches[1]);
        atomic_store_explicit(&inlay_l2_found, bytes, memory_order_relaxed);
    }
    return bytes;
}

bool inlay_note_cache(size_t bytes[INLAY_CACHE_LEVELS], uint32_t eax, uint32_t ebx, uint32_t ecx)
{
    enum { NO_CACHE = 0, INSTRUCTIONS = 2, MAX_BYTES = 1 << 30 };
    const uint32_t type = eax & 31, level = eax >> 5 & 7;
    const uint64_t line = (ebx & 0xfff) + 1, partitions = (ebx >> 12 & 0x3ff) + 1, ways = (ebx >> 22) + 1;
    uint64_t all;
    if (type == NO_CACHE)
        return false;
    if (__builtin_mul_overflow(line * partitions * ways, (uint64_t)ecx + 1, &all))
        all = UINT64_MAX;
    if (type != INSTRUCTIONS && level >= 1 && level <= INLAY_CACHE_LEVELS && all <= MAX_BYTES)
        bytes[level - 1] = (size_t)all;
    return true;
}

void inlay_cpu_caches(size_t bytes[INLAY_CACHE_LEVELS])
{
    memset(bytes, 0, INLAY_CACHE_LEVELS * sizeof *bytes);
#ifdef __x86_64__
    /* AMD's CPUs leave leaf 4 empty and have the same registers in leaf 0x8000001D. No core has more caches than this;
       a longer list is ignored. */
    enum { MAX_CACHES = 16 };
    static const uint32_t leaves[] = {4, 0x8000001d};
    struct inlay_cpuid found;
    for (size_t leaf = 0; leaf < 2; leaf++)
        for (uint32_t i = 0; i < MAX_CACHES && inlay_cpuid(leaves[leaf], i, &found); i++)
            if (!inlay_note_cache(bytes, found.eax, found.ebx, found.ecx))
                break;
#endif
}

/* Some names start and end with blanks. A hypervisor may report anything. */
void inlay_cpu_name(char text[INLAY_CPU_NAME_BYTES])
{
    char name[INLAY_CPU_NAME_BYTES] = "";
    size_t length = 0;
#ifdef __x86_64__
    struct inlay_cpuid words[3];
    for (uint32_t i = 0; i < 3; i++)
        inlay_cpuid(0x80000002 + i, 0, &words[i]);
    memcpy(name, words, sizeof name);
    name[sizeof name - 1] = '\0';
#endif
    for (const char *c = name + strspn(name, " "); *c != '\0'; c++)
        text[length++] = *c < ' ' || *c > '~' ? '?' : *c;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
}
