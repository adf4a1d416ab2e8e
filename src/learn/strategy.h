/* SPDX-License-Identifier: MIT */
/*
 * The prefetch strategies: what is prefetched of the rows that a call will read, how far ahead, and into which cache.
 * All give the same bits, and which one is fastest depends on the CPU, the rows, the pages and the ids. The list is the
 * enumeration inlay_prefetch; a strategy is one entry here.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>
#include <stdint.h>

enum { INLAY_STRATEGIES = INLAY_PREFETCH_L2_BLOCKS + 1 };

/* The most rows whose pointers a block has, and the bytes that a block of prefetched rows takes at most: it has to stay
   in L2, beside the block before it and the output, until it is read. */
enum { INLAY_BLOCK_ROWS = 64, INLAY_BLOCK_BYTES = 32 * 1024 };

/* Of INLAY_PREFETCH_LINES: with the first lines of a row under way, the hardware's prefetcher has caught up before they
   are used. */
enum { INLAY_LINES_ROWS = 16, INLAY_LINES = 4 };

/* The most rows between the one that a kernel writes and the one that it prefetches. */
enum { INLAY_AHEAD_MOST = 16 };

struct inlay_strategy {
    const char *text; /* for explanations */
    uint8_t ahead;    /* rows between the row that the kernel writes and the one that it prefetches; 0: a strategy
                         without the help of the kernel */
    bool beside;      /* of that row, one line beside each line that is written; else all of it before the row */
    bool near;        /* into L1; else into L2, which can have more requests under way */
    bool lines;       /* the first lines of the rows of a block before the block is read */
    bool blocks;      /* all lines of the rows of a block before the block before it is read */
};

extern const struct inlay_strategy inlay_strategies[INLAY_STRATEGIES];

/* What prefetches in a loop: kernels that write float32 rows, the kernel of sinusoids that are added as they are
   computed, or none, as for 16-bit outputs and sums of several terms. */
enum inlay_prefetcher { INLAY_PREFETCHER_NONE, INLAY_PREFETCHER_ROWS, INLAY_PREFETCHER_SINUSOIDS };

/* What such a loop can follow. */
struct inlay_prefetcher_strategies {
    uint32_t mask;            /* a bit for each strategy */
    inlay_prefetch otherwise; /* what stands in for the others */
};

extern const struct inlay_prefetcher_strategies inlay_prefetchers[];

static inline inlay_prefetch inlay_strategy_within(inlay_prefetch wanted, enum inlay_prefetcher prefetcher)
{
    const struct inlay_prefetcher_strategies *strategies = &inlay_prefetchers[prefetcher];
    return strategies->mask >> wanted & 1 ? wanted : strategies->otherwise;
}
