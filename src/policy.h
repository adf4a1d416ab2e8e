/* SPDX-License-Identifier: MIT */
/*
 * The thresholds that decide how work is cut and how it leaves the core, each with its reason. Included by embed.c,
 * generator.h and, through it, sinusoid.c.
 */
#ifndef INLAY_POLICY_H
#define INLAY_POLICY_H

#include <inlay/inlay.h>

#include <stdbool.h>

/* Tokens whose pointers one kernel call gets. */
enum { INLAY_TILE_TOKENS = 128 };

/* Position rows of a block: half of the smallest L1 data cache among our targets (32 KiB), the other half is for the
   rows that pass by. */
enum { INLAY_BLOCK_BYTES = 16 * 1024 };

/*
 * Outputs larger than this leave by non-temporal stores: four times the largest per-core L2 in common use (2 MiB). A
 * larger L3 is no reason to wait: virtual machines report more than they have, and streaming is no slower there.
 */
enum { INLAY_STREAM_BYTES = 8 * 1024 * 1024 };

/* The product does not overflow: the output's extent has been checked. */
static inline bool inlay_streams(inlay_stores stores, size_t rows, size_t row_bytes)
{
    if (stores != INLAY_STORES_AUTOMATIC)
        return stores == INLAY_STORES_STREAMED;
    return rows * row_bytes > INLAY_STREAM_BYTES;
}

#endif
