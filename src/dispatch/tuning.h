/* SPDX-License-Identifier: MIT */
/*
 * What calls begin with on this CPU, and the sizes by which work is cut, each with what it was measured on. What
 * differs between CPUs is in cpu.c, or follows the caches that the CPU reports; layers learn the rest.
 */
#pragma once

#include "dispatch/cpu.h"

/* Returns inlay_tuning_default() of a CPU for kernels with fused multiply-add or without. */
inlay_tuning inlay_tuning_of(const struct inlay_cpu *cpu, bool fma);

/* Returns whether this version knows a tuning and its strategy. */
bool inlay_tuning_known(const inlay_tuning *tuning);

/* Returns the strategy that calls begin with which write `call_bytes` from rows of row_bytes of a table. */
inlay_prefetch inlay_first_strategy(const inlay_table *table, size_t row_bytes, size_t call_bytes);

/* Returns whether calls that write `call_bytes` from rows in L2 move 32 bytes at a time. */
static inline bool inlay_moves_narrow(size_t call_bytes)
{
    return inlay_cpu()->narrow_moves && call_bytes <= inlay_l2_bytes();
}

/* The least number of positions that a part computes: the anchor that it begins with takes as long as about 30 rows. */
enum { INLAY_PART_POSITIONS = 64 };

/* Rows of a larger table come from memory. Then even small calls prefetch whole rows if these are short: 24 rows of 1
   KiB take 0.55 of the time (Zen 4). Rows that L2 holds take 1.15 times as long. */
enum { INLAY_SHORT_ROW_BYTES = 4096, INLAY_COLD_TABLE_BYTES = 128 * 1024 * 1024 };

/* The longest run of consecutive positions of which each is computed by itself: an anchor, from exact phases, takes as
   long as the rows that it saves. The second figure is that of kernels without fused multiply-add. */
enum { INLAY_DIRECT_ROWS = 12, INLAY_DIRECT_ROWS_UNFUSED = 2 };
