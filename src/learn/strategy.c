/* SPDX-License-Identifier: MIT */
#include "learn/strategy.h"

const struct inlay_strategy inlay_strategies[INLAY_STRATEGIES] = {
    [INLAY_PREFETCH_AUTOMATIC] = {.text = "none"},
    [INLAY_PREFETCH_NONE] = {.text = "none"},
    [INLAY_PREFETCH_LINES] = {.text = "the first lines of 16 rows, to L1, before they are read", .lines = true},
    [INLAY_PREFETCH_L1_BESIDE_2] = {.text = "to L1, a line of the row 2 rows later beside each line that is written",
                                    .ahead = 2,
                                    .beside = true,
                                    .near = true},
    [INLAY_PREFETCH_L2_BESIDE_2] = {.text = "to L2, a line of the row 2 rows later beside each line that is written",
                                    .ahead = 2,
                                    .beside = true},
    [INLAY_PREFETCH_L2_BESIDE_8] = {.text = "to L2, a line of the row 8 rows later beside each line that is written",
                                    .ahead = 8,
                                    .beside = true},
    [INLAY_PREFETCH_L2_ROWS_16] = {.text = "to L2, the row 16 rows later before each row", .ahead = INLAY_AHEAD_MOST},
    [INLAY_PREFETCH_L2_BLOCKS] = {.text = "to L2, whole rows in blocks, before the block before is read",
                                  .blocks = true},
};

enum {
    BY_LOOP = 1 << INLAY_PREFETCH_NONE | 1 << INLAY_PREFETCH_LINES | 1 << INLAY_PREFETCH_L2_BLOCKS,
    BESIDE = 1 << INLAY_PREFETCH_L1_BESIDE_2 | 1 << INLAY_PREFETCH_L2_BESIDE_2 | 1 << INLAY_PREFETCH_L2_BESIDE_8,
};

const struct inlay_prefetcher_strategies inlay_prefetchers[] = {
    [INLAY_PREFETCHER_NONE] = {BY_LOOP, INLAY_PREFETCH_L2_BLOCKS},
    [INLAY_PREFETCHER_ROWS] = {BY_LOOP | BESIDE | 1 << INLAY_PREFETCH_L2_ROWS_16, INLAY_PREFETCH_L2_BLOCKS},
    [INLAY_PREFETCHER_SINUSOIDS] = {1 << INLAY_PREFETCH_NONE | BESIDE, INLAY_PREFETCH_L2_BESIDE_2},
};
