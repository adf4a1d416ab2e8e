/* SPDX-License-Identifier: MIT */
#include "learn/strategy.h"

const struct inlay_strategy inlay_strategies[INLAY_STRATEGIES] = {
    [INLAY_PREFETCH_AUTOMATIC] = {.text = "none", .block_rows = INLAY_BLOCK_ROWS},
    [INLAY_PREFETCH_NONE] = {.text = "none", .block_rows = INLAY_BLOCK_ROWS},
    [INLAY_PREFETCH_LINES] = {.text = "the first lines of 16 rows, to L1, before they are read",
                              .block_rows = INLAY_LINES_ROWS,
                              .lines = true},
    [INLAY_PREFETCH_L1_BESIDE_2] = {.text = "to L1, a line of the row 2 rows later beside each line that is written",
                                    .ahead = 2,
                                    .block_rows = INLAY_BLOCK_ROWS,
                                    .beside = true,
                                    .near = true},
    [INLAY_PREFETCH_L2_BESIDE_2] = {.text = "to L2, a line of the row 2 rows later beside each line that is written",
                                    .ahead = 2,
                                    .block_rows = INLAY_BLOCK_ROWS,
                                    .beside = true},
    [INLAY_PREFETCH_L2_BESIDE_8] = {.text = "to L2, a line of the row 8 rows later beside each line that is written",
                                    .ahead = 8,
                                    .block_rows = INLAY_BLOCK_ROWS,
                                    .beside = true},
    [INLAY_PREFETCH_L2_ROWS_16] = {.text = "to L2, the row 16 rows later before each row",
                                   .ahead = INLAY_AHEAD_MOST,
                                   .block_rows = INLAY_BLOCK_ROWS},
    [INLAY_PREFETCH_L2_BLOCKS] = {.text = "to L2, whole rows in blocks, before the block before is read",
                                  .block_rows = INLAY_BLOCK_ROWS,
                                  .blocks = true},
};

uint32_t inlay_strategies_of(enum inlay_prefetcher prefetcher)
{
    uint32_t all = 0;
    for (unsigned i = INLAY_PREFETCH_NONE; i < INLAY_STRATEGIES; i++) {
        const struct inlay_strategy *strategy = &inlay_strategies[i];
        const bool by_kernel = strategy->ahead > 0, nothing = !by_kernel && !strategy->lines && !strategy->blocks;
        const bool follows = prefetcher == INLAY_PREFETCHER_ROWS        ? true
                             : prefetcher == INLAY_PREFETCHER_SINUSOIDS ? nothing || strategy->beside
                                                                        : !by_kernel;
        all |= follows ? 1u << i : 0;
    }
    return all;
}

inlay_prefetch inlay_strategy_within(inlay_prefetch wanted, enum inlay_prefetcher prefetcher)
{
    if (inlay_strategies_of(prefetcher) >> wanted & 1)
        return wanted;
    return prefetcher == INLAY_PREFETCHER_SINUSOIDS ? INLAY_PREFETCH_L2_BESIDE_2 : INLAY_PREFETCH_L2_BLOCKS;
}
