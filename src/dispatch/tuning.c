/* SPDX-License-Identifier: MIT */
/*
 * The defaults of inlay_tuning.
 */
#include "dispatch/tuning.h"

#include "dispatch/cpu.h"
#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"

/* Measured with an L2 of 1 MiB: in smaller calls, prefetching first lines is as fast as prefetching whole rows. */
static const size_t l2_bytes = (size_t)1 << 20;

/* The smallest L1 data cache in common use, 32 KiB, holds this beside the rows that pass through it. */
static const size_t block_bytes = (size_t)12 << 10;

/* What memory sends within its latency: half of it and twice as much were both measured to be slower. */
static const size_t prefetch_bytes = (size_t)8 << 10;

inlay_tuning inlay_tuning_default(void)
{
    const struct inlay_cpu *cpu = inlay_cpu();
    return (inlay_tuning){
        .size = sizeof(inlay_tuning),
        .l2_bytes = l2_bytes,
        .stream_bytes = cpu->stream_bytes,
        .compute_bytes = inlay_dispatch()->lanes < 16 ? cpu->compute_bytes : cpu->compute_bytes_wide,
        .block_bytes = block_bytes,
        .prefetch_bytes = prefetch_bytes,
    };
}
