/* SPDX-License-Identifier: MIT */
/*
 * The table of measured CPUs. It holds only what no CPU reports and no data sheet tells: how fast L3 and memory are
 * beside the kernels. Sizes of caches come from caches.h.
 */
#include "dispatch/cpu.h"

#include "dispatch/cpuid.h"

#include <string.h>

enum { MIB = 1024 * 1024 };

/* Of CPUs that were not measured: the figures of a slow L3. */
static const struct inlay_cpu other = {
    .kind = NULL,
    .narrow_moves = false,
    .stream_bytes = MIB,
    .compute_bytes = MIB,
    .compute_bytes_wide = MIB,
};

/*
 * AMD's Zen 5, with 32 MiB of L3 next to 8 cores. An output of 7 MiB and the rows that it is made of move as fast
 * through this L3 as past it; one of 2 MiB takes 0.83 of the time. Up to 12 MiB of cached positions are read faster
 * than 16 at once are computed, and up to 48 MiB faster than 8 at once. In L2 moves of 64 bytes take a tenth to a fifth
 * less time than moves of 32.
 */
static const struct inlay_cpu zen5 = {
    .kind = "AMD Zen 5",
    .narrow_moves = false,
    .stream_bytes = 7 * MIB,
    .compute_bytes = 48 * MIB,
    .compute_bytes_wide = 12 * MIB,
};

/*
 * AMD's Zen 4, with 1 MiB of L2 and 32 MiB of L3, in a virtual machine of two cores. Cached stores take
 * 1.01 of the time of streaming ones for outputs of 512 KiB, 1.1 for 1 MiB, 1.23 for 2 and 4 MiB and 2 for 16 MiB.
 * Cached positions are read in 0.62 of the time in which 16 at once are computed for 4 MiB of them and in 0.86 for 8
 * MiB, with 8 at once in 0.41 for 2 MiB and 0.92 for 8 MiB. Beyond that both take the same time within 5 %, and
 * computing leaves the memory to others. In L2 moves of 64 bytes take as long as moves of 32.
 */
static const struct inlay_cpu zen4 = {
    .kind = "AMD Zen 4",
    .narrow_moves = false,
    .stream_bytes = MIB,
    .compute_bytes = 8 * MIB,
    .compute_bytes_wide = 8 * MIB,
};

/*
 * Intel's Ice Lake and Sapphire Rapids, whose L3 is far from the cores: streaming stores are faster for what L2, of
 * 2 MiB, does not hold, and so is computing positions. In L2 moves of 32 bytes take a tenth less time than moves of 64.
 */
static const struct inlay_cpu intel = {
    .kind = "Intel (Ice Lake, Sapphire Rapids)",
    .narrow_moves = true,
    .stream_bytes = MIB,
    .compute_bytes = MIB,
    .compute_bytes_wide = MIB,
};

/* Intel's servers of family 6 that were measured: two models of Ice Lake, and Sapphire Rapids. */
static bool intel_is_measured(unsigned family, unsigned model)
{
    return family == 6 && (model == 0x6a || model == 0x6c || model == 0x8f);
}

const struct inlay_cpu *inlay_cpu_of(const struct inlay_cpu_facts *facts)
{
    const uint32_t signature = facts->signature;
    const unsigned base = signature >> 8 & 15, family = base == 15 ? base + (signature >> 20 & 255) : base;
    const unsigned model = (signature >> 4 & 15) | (signature >> 12 & 0xf0);
    if (facts->intel && intel_is_measured(family, model))
        return &intel;
    /* Zen 5 was AMD's first CPU with this instruction. Of family 25, Zen 3 and Zen 4, only Zen 4 has AVX-512. */
    if (facts->amd && facts->avx512vp2intersect)
        return &zen5;
    if (facts->amd && family == 25 && facts->avx512f)
        return &zen4;
    return &other;
}

const struct inlay_cpu *inlay_cpu(void)
{
    struct inlay_cpu_facts facts = {.signature = 0};
#ifdef INLAY_HAVE_AVX2
    /* Compilers older than a CPU do not know its name, but its maker and its instructions. */
    struct inlay_cpuid found;
    inlay_cpuid(1, 0, &found);
    facts.signature = found.eax;
    facts.intel = __builtin_cpu_is("intel");
    facts.amd = __builtin_cpu_is("amd");
    facts.avx512f = __builtin_cpu_supports("avx512f");
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
