/* SPDX-License-Identifier: MIT */
/*
 * The thresholds that decide how work is cut and stored, each with what it was measured on. Those that differ between
 * CPUs are in cpu.c, or follow the caches that the CPU reports; callers override those of inlay_tuning.
 */
#ifndef INLAY_DISPATCH_TUNING_H
#define INLAY_DISPATCH_TUNING_H

#include "dispatch/caches.h"

#include <inlay/inlay.h>

#include <stdatomic.h>
#include <stdbool.h>

struct inlay_cpu;

/* The thresholds of this process, and where they come from. */
struct inlay_thresholds {
    inlay_tuning tuning;          /* its compute_bytes is for vectors of up to 8 floats */
    size_t compute_bytes_wide;    /* for vectors of 16 floats */
    size_t compute_bytes_unfused; /* for kernels without fused multiply-add */
    size_t plain_block_bytes;     /* block_bytes of operations without ids */
    bool narrow_moves;            /* as in inlay_cpu */
    const char *kind;             /* as in inlay_cpu */
    struct inlay_caches caches;
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

/* Returns the thresholds of this process. The first call asks the CPU and its operating system. A thread or signal
   handler that calls meanwhile does the same for itself, into *own, and waits for nobody. */
static inline const struct inlay_thresholds *inlay_thresholds(struct inlay_thresholds *own)
{
    if (atomic_load_explicit(&inlay_thresholds_state, memory_order_acquire) == INLAY_THRESHOLDS_READY)
        return &inlay_shared_thresholds;
    return inlay_find_thresholds(own);
}

/* Returns the thresholds of a CPU with these figures and caches. */
struct inlay_thresholds inlay_thresholds_of(const struct inlay_cpu *cpu, struct inlay_caches caches);

/* The least number of positions that a part computes: the anchor that it begins with takes as long as about 30 rows. */
enum { INLAY_PART_POSITIONS = 64 };

/* The most rows that are prefetched together. For rows of 256 bytes and less, 32 and fewer take longer (Zen 4). */
enum { INLAY_PREFETCH_ROWS = 64 };

/* How far a fused pass prefetches ahead of the row that it computes, in bytes, and the least and the most in rows. */
enum { INLAY_AHEAD_BYTES = 12 * 1024, INLAY_AHEAD_LEAST = 3, INLAY_AHEAD_MOST = 12 };

/* Even small calls prefetch whole rows if these are short and come from memory, since the table is larger than a cache:
   24 rows of 1 KiB take 0.55 of the time then (Zen 4). Rows that L2 holds take 1.15 times as long. */
enum { INLAY_SHORT_ROW_BYTES = 4096, INLAY_COLD_TABLE_BYTES = 128 * 1024 * 1024 };

/* Where the rows of a block are prefetched between those of the block before, requests to memory are always under way
   (0.85 to 0.93 of the time for tables of up to 128 MiB). Rows of larger tables wait for walks through the page table,
   which overlap only where prefetches follow each other (1.2 to 1.9 times as long otherwise), except for rows of up to
   two lines, which are read as fast as they are asked for (0.6 to 0.97), and of
   INLAY_BESIDE_ROW_BYTES or more, which take few walks for their bytes. All on Zen 4. */
enum { INLAY_LONE_ROW_BYTES = 128 };

/* What other small calls prefetch: the first lines of each row, in blocks of rows, since L2 may hold the rest. With
   these under way the hardware's prefetcher has caught up before they are consumed. */
enum { INLAY_PREFETCH_LINES = 4, INLAY_PREFETCH_LINES_ROWS = 16 };

/* The longest run of consecutive positions of which each is computed by itself: an anchor, from exact phases, takes as
   long as the rows that it saves. The second figure is that of kernels without fused multiply-add. */
enum { INLAY_DIRECT_ROWS = 12, INLAY_DIRECT_ROWS_UNFUSED = 2 };

/* Sinusoid tables of more bytes are written by non-temporal stores. Nothing is read for them, so that an L3, however
   fast, does not help: leaving 4 MiB there took 5 % longer. */
enum { INLAY_FILL_BYTES = 1024 * 1024 };

#endif
