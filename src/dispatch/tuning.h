/* SPDX-License-Identifier: MIT */
/*
 * Limits of how work is cut and prefetched that callers cannot set, each with what it was measured on. Those that they
 * can, inlay_tuning, have their defaults in tuning.c and, where CPUs differ, in cpu.c.
 */
#ifndef INLAY_DISPATCH_TUNING_H
#define INLAY_DISPATCH_TUNING_H

#include <inlay/inlay.h>

/* The least number of positions that a part computes: the anchor that it begins with costs as much as three rows. */
enum { INLAY_PART_POSITIONS = 64 };

/* Rows of a block that is prefetched before the kernel reads it. 32 to 128 were measured to be alike on Zen 4. */
enum { INLAY_PREFETCH_ROWS = 64 };

/* Rows of at most so many bytes of a table of more than so many are prefetched whole even by small calls, since they
   come from memory: 24 rows of 1 KiB take 0.55 of the time then (Zen 4). Rows that L2 holds take 1.15 times as long. */
enum { INLAY_SHORT_ROW_BYTES = 4096, INLAY_COLD_TABLE_BYTES = 128 * 1024 * 1024 };

/* Lines of a row that small calls prefetch, since L2 may hold the rest: with these under way the hardware's prefetcher
   has caught up before they are consumed. */
enum { INLAY_PREFETCH_LINES = 4 };

/* Runs of at most so many consecutive positions are computed each by itself: an anchor, from exact phases, takes as
   long as the rows that it saves. */
enum { INLAY_DIRECT_ROWS = 12 };

/* Sinusoid tables of more bytes are written by non-temporal stores. Nothing is read for them, so that an L3, however
   fast, does not help: leaving 4 MiB there took 5 % longer. */
enum { INLAY_FILL_BYTES = 1024 * 1024 };

#endif
