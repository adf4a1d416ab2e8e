/* SPDX-License-Identifier: MIT */
/*
 * The table of measured CPUs: what layers begin with before they have measured themselves, and what they cannot
 * measure, which is how fast the consumer of an output reads it. Sizes of caches come from caches.h.
 */
#include "dispatch/cpu.h"

#include "base/environment.h"
#include "dispatch/cpuid.h"

#include <string.h>

enum { MIB = 1024 * 1024 };

/* Of CPUs that were not measured: what loses least on those that were. */
static const struct inlay_cpu other = {
    .compute_bytes = MIB,
    .compute_bytes_wide = MIB,
    .short_rows = INLAY_PREFETCH_L2_BESIDE_8,
    .long_rows = INLAY_PREFETCH_L2_BESIDE_2,
};

/*
 * AMD's Zen 5, with 32 MiB of L3 next to 8 cores. Up to 12 MiB of cached positions are read faster than 16 at once are
 * computed, and up to 48 MiB faster than 8 at once. In L2 moves of 64 bytes take a tenth to a fifth less time than
 * moves of 32.
 */
static const struct inlay_cpu zen5 = {
    .kind = "AMD Zen 5",
    .compute_bytes = 48 * MIB,
    .compute_bytes_wide = 12 * MIB,
    .short_rows = INLAY_PREFETCH_L2_BESIDE_8,
    .long_rows = INLAY_PREFETCH_L2_BESIDE_2,
};

/*
 * AMD's Zen 4, with 1 MiB of L2 and 32 MiB of L3, in a virtual machine of two cores. Cached positions are read in 0.62
 * of the time in which 16 at once are computed for 4 MiB of them and in 0.86 for 8 MiB, with 8 at once in 0.41 for 2
 * MiB and 0.92 for 8 MiB. In L2 moves of 64 bytes take as long as moves of 32. A line beside each line written
 * takes 1.00 to 1.03 of the best strategy for rows of 2 KiB and more from 2 rows ahead, and 1.00 to 1.10 for shorter
 * ones from 8 rows ahead.
 */
static const struct inlay_cpu zen4 = {
    .kind = "AMD Zen 4",
    .compute_bytes = 8 * MIB,
    .compute_bytes_wide = 8 * MIB,
    .short_rows = INLAY_PREFETCH_L2_BESIDE_8,
    .long_rows = INLAY_PREFETCH_L2_BESIDE_2,
};

/*
 * AMD's Zen 3, without AVX-512, in a virtual machine of two cores: a line beside each line written, to L1 and from 2
 * rows ahead, takes 1.01 to 1.17 of the fastest copy, blocks of rows 1.08 to 1.47.
 */
static const struct inlay_cpu zen3 = {
    .kind = "AMD Zen 3",
    .compute_bytes = 8 * MIB,
    .compute_bytes_wide = 8 * MIB,
    .short_rows = INLAY_PREFETCH_L1_BESIDE_2,
    .long_rows = INLAY_PREFETCH_L1_BESIDE_2,
};

/*
 * Intel's servers from Ice Lake on, whose L3 is far from the cores but large: a call and one read of its output take as
 * long with either kind of stores at 80 MiB. Computing positions is faster than reading those that L2, of 2 MiB,
 * does not hold. In L2 moves of 32 bytes take a tenth less time than moves of 64. For rows below 8 KiB the others
 * take 1.06 to 1.48 of the time of blocks (Emerald Rapids).
 */
static const struct inlay_cpu intel = {
    .kind = "Intel Xeon (Ice Lake to Emerald Rapids)",
    .narrow_moves = true,
    .stream_bytes = 80 * MIB,
    .compute_bytes = MIB,
    .compute_bytes_wide = MIB,
    .short_rows = INLAY_PREFETCH_L2_BLOCKS,
    .long_rows = INLAY_PREFETCH_L2_BESIDE_2,
};

/* Intel's servers of family 6: two models of Ice Lake; and what has float16 instructions of 512 bits, from Sapphire
   Rapids on, whose model a hypervisor may hide. */
static bool is_intel_server(const struct inlay_cpu_facts *facts, unsigned family, unsigned model)
{
    return facts->intel && family == 6 && (model == 0x6a || model == 0x6c || facts->avx512fp16);
}

const struct inlay_cpu *inlay_cpu_of(const struct inlay_cpu_facts *facts)
{
    const uint32_t signature = facts->signature;
    const unsigned base = signature >> 8 & 15, family = base == 15 ? base + (signature >> 20 & 255) : base;
    const unsigned model = (signature >> 4 & 15) | (signature >> 12 & 0xf0);
    if (is_intel_server(facts, family, model))
        return &intel;
    /* Zen 5 was AMD's first CPU with this instruction. Of family 25, Zen 3 and Zen 4, only Zen 4 has AVX-512, which a
       hypervisor may hide. */
    if (facts->amd && facts->avx512vp2intersect)
        return &zen5;
    if (facts->amd && family == 25 && facts->avx512f)
        return &zen4;
    if (facts->amd && family == 25 && (model < 0x10 || (model >= 0x20 && model < 0x60)))
        return &zen3;
    return &other;
}

/* Tests and benchmarks see by this variable what a CPU that was not measured does. */
static bool is_hidden(void)
{
    return inlay_environment_is("INLAY_CPU", "unknown");
}

const struct inlay_cpu *inlay_cpu(void)
{
    struct inlay_cpu_facts facts = {.signature = 0};
    if (is_hidden())
        return &other;
#ifdef INLAY_HAVE_AVX2
    /* Compilers older than a CPU do not know its name, but its maker and its instructions. */
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

void inlay_cpu_name(char *text, size_t size)
{
    char name[49] = "";
#ifdef INLAY_HAVE_AVX2
    struct inlay_cpuid words[3];
    for (uint32_t i = 0; i < 3; i++)
        inlay_cpuid(0x80000002 + i, 0, &words[i]);
    memcpy(name, words, sizeof words);
    name[48] = '\0';
#endif
    /* Some names begin and end with blanks. A hypervisor may have put anything else here. */
    size_t begin = strspn(name, " "), length = strlen(name + begin), i = 0;
    while (length > 0 && name[begin + length - 1] == ' ')
        length--;
    for (; i < length && i + 1 < size; i++)
        text[i] = name[begin + i];
    text[i] = '\0';
    while (i-- > 0)
        text[i] = text[i] < ' ' || text[i] > '~' ? '?' : text[i];
}
