/* SPDX-License-Identifier: MIT */
/*
 * The thresholds of this process. They are found once, at first use, and never change afterwards; tests and benchmarks
 * that choose another ISA get its compute_bytes.
 */
#include "dispatch/tuning.h"

#include "base/least.h"
#include "dispatch/cpu.h"
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

/* A block of prefetched rows takes this share of L2. Half as much and four times as much are slower (Zen 4). */
enum { PREFETCH_SHARE = 64 };

struct inlay_thresholds inlay_thresholds_of(const struct inlay_cpu *cpu, struct inlay_caches caches)
{
    const size_t reported = caches.bytes[1] > 0 ? caches.bytes[1] : l2_unreported;
    const size_t l2 = inlay_least(inlay_most(reported, l2_least), l2_most);
    /* A CPU that was not measured streams nothing that its L2 holds. */
    const size_t stream_bytes = cpu->kind != NULL ? cpu->stream_bytes : inlay_most(cpu->stream_bytes, l2);
    return (struct inlay_thresholds){
        .tuning =
            {
                .size = sizeof(inlay_tuning),
                .l2_bytes = inlay_least(l2, stream_bytes), /* what is streamed comes from memory */
                .stream_bytes = stream_bytes,
                .compute_bytes = cpu->compute_bytes,
                .block_bytes = block_bytes,
                .prefetch_bytes = l2 / PREFETCH_SHARE,
            },
        .compute_bytes_wide = cpu->compute_bytes_wide,
        /* Computing position rows takes 2 to 4 times as long as reading them from memory. */
        .compute_bytes_unfused = SIZE_MAX,
        /* Rows without ids follow each other, so that the hardware's prefetcher fetches them: it runs long over each
           sequence if the positions that they share fill half of L2 rather than half of L1. (Zen 4: 16.7 ms in place of
           18.8 for 8 x 2048 x 4096.) */
        .plain_block_bytes = l2 / 2,
        .narrow_moves = cpu->narrow_moves,
        .kind = cpu->kind,
        .caches = caches,
    };
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

inlay_tuning inlay_tuning_default(void)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    struct inlay_thresholds own;
    const struct inlay_thresholds *thresholds = inlay_thresholds(&own);
    inlay_tuning tuning = thresholds->tuning;
    if (!kernels->fma)
        tuning.compute_bytes = thresholds->compute_bytes_unfused;
    else if (kernels->lanes >= 16)
        tuning.compute_bytes = thresholds->compute_bytes_wide;
    return tuning;
}

inlay_tuning_source inlay_tuning_default_source(void)
{
    struct inlay_thresholds own;
    const struct inlay_thresholds *thresholds = inlay_thresholds(&own);
    inlay_tuning_source source = {
        .size = sizeof source,
        .measured = thresholds->kind,
        .l1_bytes = thresholds->caches.bytes[0],
        .l2_bytes = thresholds->caches.bytes[1],
        .l3_bytes = thresholds->caches.bytes[2],
    };
    inlay_cpu_name(source.cpu, sizeof source.cpu);
    return source;
}
