/* SPDX-License-Identifier: MIT */
/*
 * Where CPUs that run the same kernels differ: what was measured on one of a kind. No data sheet tells it, and the L3
 * that a virtual machine reports may be that of many.
 */
#include "dispatch/cpu.h"

enum { MIB = 1024 * 1024 };

/* Not measured: as with an L3 that is slow. */
static const struct inlay_cpu other = {false, MIB, MIB, MIB};

#ifdef INLAY_HAVE_AVX2
/*
 * AMD's Zen 5, 32 MiB of L3 next to 8 cores. An output of 7 MiB and the rows that it is made of come from there and go
 * there as fast as past it; one of 2 MiB takes 0.83 of that time. Held positions come faster than 16 at once are made
 * up to 12 MiB of them, and than 8 at once up to 48. In L2 moves of 64 bytes take a tenth to a fifth less than of 32.
 */
static const struct inlay_cpu zen5 = {false, 7 * MIB, 48 * MIB, 12 * MIB};

/*
 * Intel's Ice Lake and Sapphire Rapids, whose L3 is far from the cores: what L2, of 2 MiB, does not hold had better go
 * past the caches, or be made. In L2 moves of 32 bytes take a tenth less than of 64.
 */
static const struct inlay_cpu intel = {true, MIB, MIB, MIB};
#endif

const struct inlay_cpu *inlay_cpu(void)
{
#ifdef INLAY_HAVE_AVX2
    if (__builtin_cpu_is("intel"))
        return &intel;
    /* No compiler that is not newer than Zen 5 knows its name; it was AMD's first CPU with this instruction. */
    if (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect"))
        return &zen5;
#endif
    return &other;
}
