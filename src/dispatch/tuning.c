/* SPDX-License-Identifier: MIT */
/*
 * The thresholds of inlay_tuning: their defaults, and the prefetch distance in rows.
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

/* The prefetch distance in rows of `row_bytes` bytes. */
static size_t prefetch_rows(size_t distance_bytes, size_t row_bytes)
{
    if (distance_bytes == 0 || row_bytes == 0)
        return 0;
    size_t rows = distance_bytes / row_bytes;
    return rows < 1 ? 1 : rows < INLAY_MOST_PREFETCH_ROWS ? rows : INLAY_MOST_PREFETCH_ROWS;
}

struct inlay_thresholds inlay_thresholds_of(const inlay_tuning *tuning, inlay_stores stores, const inlay_table *tokens)
{
    const inlay_tuning chosen = tuning != NULL ? *tuning : inlay_tuning_default();
    return (struct inlay_thresholds){
        .stores = stores,
        .l2_bytes = chosen.l2_bytes,
        .stream_bytes = chosen.stream_bytes,
        .block_bytes = chosen.block_bytes,
        .compute_tokens = tokens->dim > 0 ? chosen.compute_bytes / sizeof(float) / tokens->dim : 0,
        .prefetch_rows = prefetch_rows(chosen.prefetch_bytes, inlay_table_row_bytes(tokens->type, tokens->dim)),
    };
}
