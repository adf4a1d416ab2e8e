/* SPDX-License-Identifier: MIT */
/*
 * Where CPUs that run the same kernels differ: what was measured on one of a kind. No data sheet tells it, and the L3
 * that a virtual machine reports may be that of many.
 */
#include "cpu.h"

#include "dispatch.h"
#include "kernels.h"

#include <inlay/inlay.h>

#define MIB ((size_t)1 << 20)

struct kind {
    bool narrow;
    size_t stream_bytes;
    size_t compute_bytes[2]; /* of vectors of 16 floats, and of shorter ones */
};

/*
 * AMD's Zen 5, 32 MiB of L3 next to 8 cores. An output of 7 MiB and the rows that it is made of come from there and go
 * there as fast as past it; one of 2 MiB takes 0.83 of that time. Held positions come faster than 16 at once are made
 * up to 12 MiB of them, and than 8 at once up to 48. In L2 moves of 64 bytes take a tenth to a fifth less than of 32.
 */
static const struct kind amd = {false, 7 * MIB, {12 * MIB, 48 * MIB}};

/*
 * Intel's Ice Lake and Sapphire Rapids, whose L3 is far from the cores: what L2, of 2 MiB, does not hold had better go
 * past the caches, or be made. In L2 moves of 32 bytes take a tenth less than of 64.
 */
static const struct kind intel = {true, MIB, {MIB, MIB}};

/* Not measured: as with the slower L3. */
static const struct kind other = {false, MIB, {MIB, MIB}};

static const struct kind *this_kind(void)
{
#ifdef INLAY_HAVE_AVX2
    if (__builtin_cpu_is("amd"))
        return &amd;
    if (__builtin_cpu_is("intel"))
        return &intel;
#else
    (void)amd, (void)intel;
#endif
    return &other;
}

bool inlay_cpu_narrow(void)
{
    return this_kind()->narrow;
}

size_t inlay_stream_bytes(void)
{
    return this_kind()->stream_bytes;
}

size_t inlay_compute_bytes(void)
{
    return this_kind()->compute_bytes[inlay_dispatch()->lanes < 16];
}
