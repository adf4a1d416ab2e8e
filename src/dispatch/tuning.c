/* SPDX-License-Identifier: MIT */
/*
 * The thresholds of this process. They are found once, at first use, and never change afterwards.
 */
#include "dispatch/tuning.h"

#include "base/arguments.h"
#include "base/least.h"
#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"

/* Without a report. In calls smaller than an L2 of 1 MiB, prefetching first lines is as fast as prefetching whole rows
   (Zen 4, Zen 5). */
static const size_t l2_unreported = (size_t)1 << 20;

/* Reports outside of this range are a hypervisor's mistake, or of a cache that several cores share. */
static const size_t l2_least = (size_t)256 << 10, l2_most = (size_t)4 << 20;

/* An L1 of 32 KiB, the smallest in common use, holds this beside the rows and outputs that pass through it. Twice as
   much takes 1.2 to 1.4 times as long in cache (Zen 4). */
static const size_t block_bytes = (size_t)8 << 10;

/* Of CPUs that were not measured, for operations without a handle that could learn: their consumers find this in the L3
   of any server. */
static const size_t stream_unmeasured = (size_t)16 << 20;

struct inlay_thresholds inlay_thresholds_of(const struct inlay_cpu *cpu, struct inlay_caches caches)
{
    const size_t reported = caches.bytes[1] > 0 ? caches.bytes[1] : l2_unreported;
    return (struct inlay_thresholds){cpu, caches, inlay_least(inlay_most(reported, l2_least), l2_most)};
}

struct inlay_thresholds inlay_shared_thresholds;
_Atomic(int) inlay_thresholds_state;

/* The thread that moves the state on from UNKNOWN writes the shared struct; readers wait for READY. */
const struct inlay_thresholds *inlay_find_thresholds(struct inlay_thresholds *own)
{
    int state = INLAY_THRESHOLDS_UNKNOWN;
    *own = inlay_thresholds_of(inlay_cpu(), inlay_caches());
    if (atomic_compare_exchange_strong_explicit(&inlay_thresholds_state, &state, INLAY_THRESHOLDS_WRITTEN,
                                                memory_order_relaxed, memory_order_relaxed)) {
        inlay_shared_thresholds = *own;
        atomic_store_explicit(&inlay_thresholds_state, INLAY_THRESHOLDS_READY, memory_order_release);
    }
    return own;
}

inlay_prefetch inlay_first_strategy(const struct inlay_thresholds *thresholds, const inlay_table *table,
                                    size_t row_bytes, size_t call_bytes)
{
    const bool cold = table->rows * table->stride_bytes > INLAY_COLD_TABLE_BYTES;
    if (table->type != INLAY_F32)
        return INLAY_PREFETCH_L2_BLOCKS;
    if (call_bytes <= thresholds->l2_bytes && !(cold && row_bytes <= INLAY_SHORT_ROW_BYTES))
        return INLAY_PREFETCH_LINES;
    return row_bytes < INLAY_LONG_ROW_BYTES ? thresholds->cpu->short_rows : thresholds->cpu->long_rows;
}

bool inlay_tuning_known(const inlay_tuning *tuning)
{
    return inlay_struct_known(tuning, sizeof *tuning) && tuning->prefetch <= INLAY_PREFETCH_L2_BLOCKS &&
           tuning->reserved == 0;
}

inlay_tuning inlay_tuning_of(const struct inlay_cpu *cpu, size_t lanes, bool fma)
{
    return (inlay_tuning){
        .size = sizeof(inlay_tuning),
        .stream_bytes = cpu->stream_bytes > 0 ? cpu->stream_bytes : stream_unmeasured,
        /* Without fused multiply-add, computing position rows takes 2 to 4 times as long as reading them. */
        .compute_bytes = !fma          ? SIZE_MAX
                         : lanes >= 16 ? cpu->compute_bytes_wide
                                       : cpu->compute_bytes,
        .block_bytes = block_bytes,
        .prefetch = INLAY_PREFETCH_AUTOMATIC,
        .reserved = 0,
    };
}

inlay_tuning inlay_tuning_default(void)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    struct inlay_thresholds own;
    return inlay_tuning_of(inlay_thresholds(&own)->cpu, kernels->lanes, kernels->fma);
}

inlay_tuning_source inlay_tuning_default_source(void)
{
    struct inlay_thresholds own;
    const struct inlay_thresholds *thresholds = inlay_thresholds(&own);
    inlay_tuning_source source = {
        .size = sizeof source,
        .measured = thresholds->cpu->kind,
        .l1_bytes = thresholds->caches.bytes[0],
        .l2_bytes = thresholds->caches.bytes[1],
        .l3_bytes = thresholds->caches.bytes[2],
        .learns_stores = thresholds->cpu->stream_bytes == 0,
    };
    inlay_cpu_name(source.cpu, sizeof source.cpu);
    return source;
}
