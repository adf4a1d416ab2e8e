/* SPDX-License-Identifier: MIT */
/*
 * Initial settings on this CPU and the sizes by which work is split, each with its measurement. Settings that differ
 * between CPUs are in cpu.c or depend on the reported caches; self-tuning finds the rest.
 */
#pragma once

#include "dispatch/cpu.h"

/* Returns inlay_tuning_default() for a CPU, with or without kernels that use fused multiply-add. */
inlay_tuning inlay_tuning_of(const struct inlay_cpu *cpu, bool fma);

/* Returns true if this version supports a tuning and its strategy. */
bool inlay_tuning_known(const inlay_tuning *tuning);

/* Returns the initial strategy of calls that write `call_bytes` from rows of row_bytes of a table. */
inlay_prefetch inlay_first_strategy(const inlay_table *table, size_t row_bytes, size_t call_bytes);

/* Returns true if calls that write `call_bytes` from rows in L2 should move 32 bytes at a time. */
static inline bool inlay_transfers_narrow(size_t call_bytes)
{
    return inlay_cpu()->narrow_transfers && call_bytes <= inlay_l2_bytes();
}

/* Minimum number of positions that a part computes: its initial anchor takes as long as about 30 rows. */
enum { INLAY_PART_POSITIONS = 64 };

/* Rows of a larger table come from memory. Even small calls then prefetch whole rows if they are short: 24 rows of 1
   KiB take 0.55 of the time (Zen 4). If L2 holds the rows, that takes 1.15 times as long. */
enum { INLAY_SHORT_ROW_BYTES = 4096, INLAY_COLD_TABLE_BYTES = 128 * 1024 * 1024 };

/* Longest run of consecutive positions that are computed separately: an anchor, from exact phases, takes as long as the
   rows that it saves. The second value is for kernels without fused multiply-add. */
enum { INLAY_DIRECT_ROWS = 12, INLAY_DIRECT_ROWS_UNFUSED = 2 };
