/* SPDX-License-Identifier: MIT */
/*
 * The defaults of inlay_tuning.
 */
#include "dispatch/tuning.h"

#include "dispatch/cpu.h"
#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"

inlay_tuning inlay_tuning_default(void)
{
    const struct inlay_cpu *cpu = inlay_cpu();
    return (inlay_tuning){
        .size = sizeof(inlay_tuning),
        /* Measured with an L2 of 1 MiB: in smaller calls, prefetching first lines is as fast as prefetching whole
           rows. */
        .l2_bytes = (size_t)1 << 20,
        .stream_bytes = cpu->stream_bytes,
        .compute_bytes = inlay_dispatch()->lanes < 16 ? cpu->compute_bytes : cpu->compute_bytes_wide,
        /* The smallest L1 data cache in common use, 32 KiB, holds this beside the rows that pass through it. */
        .block_bytes = (size_t)12 << 10,
        /* An eighth of an L2 of 1 MiB, so that a block is still there when it is consumed. */
        .prefetch_bytes = (size_t)128 << 10,
    };
}
