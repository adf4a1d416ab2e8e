/* SPDX-License-Identifier: MIT */
/*
 * What calls begin with on this CPU, and the sizes by which work is cut, each with what it was measured on. What
 * differs between CPUs is in cpu.c, or follows the caches that the CPU reports; layers learn the rest.
 */
#ifndef INLAY_DISPATCH_TUNING_H
#define INLAY_DISPATCH_TUNING_H

#include "dispatch/caches.h"
#include "dispatch/cpu.h"

#include <stdatomic.h>

/* What is known of the CPU of this process. */
struct inlay_thresholds {
    const struct inlay_cpu *cpu;
    struct inlay_caches caches;
    size_t l2_bytes; /* of L2, within what is plausible */
};

/* Without it, hot calls would take the addresses of data from a table that the dynamic linker fills in. Windows has
   neither that table nor this attribute. */
#ifdef _WIN32
#define INLAY_HIDDEN
#else
#define INLAY_HIDDEN __attribute__((visibility("hidden")))
#endif

/* The thresholds of this process, and whether they have been found. Only inlay_thresholds() uses them. */
extern struct inlay_thresholds inlay_shared_thresholds INLAY_HIDDEN;
extern _Atomic(int) inlay_thresholds_state INLAY_HIDDEN;

enum { INLAY_THRESHOLDS_UNKNOWN, INLAY_THRESHOLDS_WRITTEN, INLAY_THRESHOLDS_READY };

/* Finds the thresholds and shares them, unless another thread is doing so. Returns own. */
const struct inlay_thresholds *inlay_find_thresholds(struct inlay_thresholds *own);

/* Returns the thresholds of this process. The first call asks the CPU. A thread or signal handler that calls meanwhile
   does the same for itself, into *own, and waits for nobody. */
static inline const struct inlay_thresholds *inlay_thresholds(struct inlay_thresholds *own)
{
    if (atomic_load_explicit(&inlay_thresholds_state, memory_order_acquire) == INLAY_THRESHOLDS_READY)
        return &inlay_shared_thresholds;
    return inlay_find_thresholds(own);
}

/* Returns the thresholds of a CPU with these figures and caches. */
struct inlay_thresholds inlay_thresholds_of(const struct inlay_cpu *cpu, struct inlay_caches caches);

/* Returns inlay_tuning_default() of a CPU for kernels of so many lanes, with fused multiply-add or without. */
inlay_tuning inlay_tuning_of(const struct inlay_cpu *cpu, size_t lanes, bool fma);

/* Returns whether this version knows a tuning and its strategy. */
bool inlay_tuning_known(const inlay_tuning *tuning);

/* Returns the strategy that calls begin with which write `call_bytes` from rows of row_bytes of a table. */
inlay_prefetch inlay_first_strategy(const struct inlay_thresholds *thresholds, const inlay_table *table,
                                    size_t row_bytes, size_t call_bytes);

/* The least number of positions that a part computes: the anchor that it begins with takes as long as about 30 rows. */
enum { INLAY_PART_POSITIONS = 64 };

/* Rows of a larger table come from memory. Then even small calls prefetch whole rows if these are short: 24 rows of 1
   KiB take 0.55 of the time (Zen 4). Rows that L2 holds take 1.15 times as long. */
enum { INLAY_SHORT_ROW_BYTES = 4096, INLAY_COLD_TABLE_BYTES = 128 * 1024 * 1024 };

/* The longest run of consecutive positions of which each is computed by itself: an anchor, from exact phases, takes as
   long as the rows that it saves. The second figure is that of kernels without fused multiply-add. */
enum { INLAY_DIRECT_ROWS = 12, INLAY_DIRECT_ROWS_UNFUSED = 2 };

#endif
