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

/* The longest prefetch distance in rows: their pointers are carried over from one kernel call to the next. */
enum { INLAY_MOST_PREFETCH_ROWS = 32 };

/* The longest prefetch distance where post-ops follow, or rows are pooled: a few tokens are in flight there. */
enum { INLAY_GENERAL_PREFETCH_ROWS = 6 };

/* Runs of at most so many consecutive positions are computed each by itself: an anchor, from exact phases, takes as
   long as the rows that it saves. */
enum { INLAY_DIRECT_ROWS = 12 };

/* Sinusoid tables of more bytes are written by non-temporal stores. Nothing is read for them, so that an L3, however
   fast, does not help: leaving 4 MiB there took 5 % longer. */
enum { INLAY_FILL_BYTES = 1024 * 1024 };

#endif
