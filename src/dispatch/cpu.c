/* SPDX-License-Identifier: MIT */
/*
 * Where CPUs that run the same kernels differ: what was measured on one CPU of a kind. No data sheet tells it, and a
 * virtual machine may report an L3 that it shares with many others.
 */
#include "dispatch/cpu.h"

enum { MIB = 1024 * 1024 };

/* Of CPUs that were not measured: the figures of a slow L3. */
static const struct inlay_cpu other = {
    .narrow_moves = false,
    .stream_bytes = MIB,
    .compute_bytes = MIB,
    .compute_bytes_wide = MIB,
};

#ifdef INLAY_HAVE_AVX2
/*
 * AMD's Zen 5, with 32 MiB of L3 next to 8 cores. An output of 7 MiB and the rows that it is made of move as fast
 * through this L3 as past it; one of 2 MiB takes 0.83 of the time. Up to 12 MiB of cached positions are read faster
 * than 16 at once are computed, and up to 48 MiB faster than 8 at once. In L2 moves of 64 bytes take a tenth to a fifth
 * less time than moves of 32.
 */
static const struct inlay_cpu zen5 = {
    .narrow_moves = false,
    .stream_bytes = 7 * MIB,
    .compute_bytes = 48 * MIB,
    .compute_bytes_wide = 12 * MIB,
};

/*
 * Intel's Ice Lake and Sapphire Rapids, whose L3 is far from the cores: streaming stores are faster for what L2, of
 * 2 MiB, does not hold, and so is computing positions. In L2 moves of 32 bytes take a tenth less time than moves of 64.
 */
static const struct inlay_cpu intel = {
    .narrow_moves = true,
    .stream_bytes = MIB,
    .compute_bytes = MIB,
    .compute_bytes_wide = MIB,
};
#endif

const struct inlay_cpu *inlay_cpu(void)
{
#ifdef INLAY_HAVE_AVX2
    if (__builtin_cpu_is("intel"))
        return &intel;
    /* Compilers older than Zen 5 do not know its name. It was AMD's first CPU with this instruction. */
    if (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect"))
        return &zen5;
#endif
    return &other;
}
