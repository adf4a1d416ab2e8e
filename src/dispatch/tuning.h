/* SPDX-License-Identifier: MIT */
/*
 * The thresholds that decide how work is cut and how it leaves the core, each with its reason. Those that a layer's
 * spec can override have their value in the public header or, where CPUs differ, in cpu.c. Included by what cuts work.
 */
#ifndef INLAY_POLICY_H
#define INLAY_POLICY_H

#include <inlay/inlay.h>

#include <stdbool.h>

/* Tokens whose pointers one kernel call gets. */
enum { INLAY_TILE_TOKENS = 128 };

/* Positions that a part computes, at the least: the anchor that it begins with costs as much as some three rows. */
enum { INLAY_PART_POSITIONS = 64 };

/* Rows that are asked for ahead at the most: their pointers are carried from one kernel call to the next. */
enum { INLAY_MOST_AHEAD = 32 };

/* Rows of sinusoids go past the caches where they are more than this. Nothing is read for them, so that an L3, however
   fast, does not help: to leave 4 MiB there took 5 % longer. */
enum { INLAY_FILL_BYTES = 1024 * 1024 };

/* What inlay_tuning can override, with the prefetch distance in rows. */
struct inlay_thresholds {
    inlay_stores stores;
    size_t l2_bytes, stream_bytes, compute_bytes, block_bytes;
    size_t prefetch_rows;
};

/* The thresholds of `tuning` (null: those of this CPU) for rows of a table. */
struct inlay_thresholds inlay_thresholds_of(const inlay_tuning *tuning, inlay_stores stores, const inlay_table *tokens);

static inline bool inlay_streams(inlay_stores stores, size_t stream_bytes, size_t bytes)
{
    return stores == INLAY_STORES_AUTOMATIC ? bytes > stream_bytes : stores == INLAY_STORES_STREAMED;
}

#endif
