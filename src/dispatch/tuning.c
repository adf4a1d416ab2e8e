/* SPDX-License-Identifier: MIT */
/*
 * Tuning: settings derived from the CPU.
 */
#include "dispatch/tuning.h"

#include "base/arguments.h"
#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"

/* Fits in an L1 of 32 KiB, the smallest in common use, with the rows and outputs that pass through it. Twice as much
   takes 1.2 to 1.4 times as long in cache (Zen 4). */
static const size_t block_bytes = (size_t)8 << 10;

/* Fits in the L3 of any server, where consumers find it. Both kinds of stores were equally fast, for a call and one
   read of its output, at 21 MiB on one Intel server and at 80 MiB on another. Both report an L3 of hundreds of MiB, so
   the threshold can't come from a table of CPUs: layers measure it. */
static const size_t stream_bytes = (size_t)16 << 20;

inlay_prefetch inlay_first_strategy(const inlay_table *table, size_t row_bytes, size_t call_bytes)
{
    const bool cold = table->rows * table->stride_bytes > INLAY_COLD_TABLE_BYTES;
    if (table->type == INLAY_F32 && call_bytes <= inlay_l2_bytes() && !(cold && row_bytes <= INLAY_SHORT_ROW_BYTES))
        return INLAY_PREFETCH_LINES;
    return row_bytes < INLAY_LONG_ROW_BYTES ? inlay_cpu()->short_rows : inlay_cpu()->long_rows;
}

bool inlay_tuning_known(const inlay_tuning *tuning)
{
    return inlay_struct_known(tuning, sizeof *tuning) && tuning->prefetch <= INLAY_PREFETCH_L2_BLOCKS &&
           tuning->reserved == 0;
}

inlay_tuning inlay_tuning_of(const struct inlay_cpu *cpu, bool fma)
{
    return (inlay_tuning){
        .size = sizeof(inlay_tuning),
        .stream_bytes = stream_bytes,
        /* Without fused multiply-add, computing position rows takes 2 to 4 times as long as reading them. */
        .compute_bytes = fma ? cpu->compute_bytes : SIZE_MAX,
        .block_bytes = block_bytes,
        .prefetch = INLAY_PREFETCH_AUTOMATIC,
        .reserved = 0,
    };
}

inlay_tuning inlay_tuning_default(void)
{
    return inlay_tuning_of(inlay_cpu(), inlay_dispatch()->fma);
}

inlay_cpu_info inlay_cpu_info_detect(void)
{
    size_t caches[INLAY_CACHE_LEVELS];
    inlay_cpu_caches(caches);
    inlay_cpu_info source = {
        .size = sizeof source,
        .measured = inlay_cpu()->kind,
        .l1_bytes = caches[0],
        .l2_bytes = caches[1],
        .l3_bytes = caches[2],
    };
    inlay_cpu_name(source.cpu);
    return source;
}
