/* SPDX-License-Identifier: MIT */
/*
 * The prefetch strategies: which lines of later rows to prefetch, how far ahead, and into which cache. All give the
 * same bits; which one is fastest depends on the CPU, the rows, the pages and the ids. Each value of inlay_prefetch has
 * one entry here.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>
#include <stdint.h>

enum { INLAY_STRATEGIES = INLAY_PREFETCH_L2_BLOCKS + 1 };

/* Maximum number of rows in a block, and maximum size of a block of prefetched rows: it must stay in L2, with the
   previous block and the output, until it is read. */
enum { INLAY_BLOCK_ROWS = 64, INLAY_BLOCK_BYTES = 32 * 1024 };

/* For INLAY_PREFETCH_LINES: once the first lines of a row are requested, the hardware prefetcher catches up before they
   are used. */
enum { INLAY_LINES_ROWS = 16, INLAY_LINES = 4 };

/* Maximum distance in rows between the row being written and the row being prefetched. */
enum { INLAY_MAX_AHEAD = 16 };

struct inlay_strategy {
    const char *text; /* for explanations */
    uint8_t ahead;    /* rows between the row being written and the row being prefetched by the kernel; 0: the kernel
                         doesn't prefetch */
    bool by_line;     /* a line of that row per line written; else all of it before the row */
    bool near;        /* into L1; else into L2, which allows more outstanding requests */
    bool lines;       /* the first lines of a block's rows, before the block is read */
    bool blocks;      /* all lines of a block's rows, before the previous block is read */
};

extern const struct inlay_strategy inlay_strategies[INLAY_STRATEGIES];

/* Who prefetches: kernels that write float32 rows, the kernel of sinusoids that are added as they are computed, or
   nobody, for kernels that write 16-bit rows and for the general path. */
enum inlay_prefetcher { INLAY_PREFETCHER_NONE, INLAY_PREFETCHER_ROWS, INLAY_PREFETCHER_SINUSOIDS };

/* The strategies that a prefetcher supports. */
struct inlay_prefetcher_strategies {
    uint32_t mask;            /* a bit for each strategy */
    inlay_prefetch otherwise; /* replaces the others */
};

extern const struct inlay_prefetcher_strategies inlay_prefetchers[];

static inline inlay_prefetch inlay_strategy_within(inlay_prefetch wanted, enum inlay_prefetcher prefetcher)
{
    const struct inlay_prefetcher_strategies *strategies = &inlay_prefetchers[prefetcher];
    return strategies->mask >> wanted & 1 ? wanted : strategies->otherwise;
}
