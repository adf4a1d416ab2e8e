/* SPDX-License-Identifier: MIT */
#include "tune/strategy.h"

/* Each with its text, `ahead`, `by_line`, `near`, `lines` and `blocks`. */
const struct inlay_strategy inlay_strategies[INLAY_STRATEGIES] = {
    [INLAY_PREFETCH_AUTOMATIC] = {"none", 0, false, false, false, false},
    [INLAY_PREFETCH_NONE] = {"none", 0, false, false, false, false},
    [INLAY_PREFETCH_LINES] = {"to L1, the first lines of 16 rows before they are read", 0, false, false, true, false},
    [INLAY_PREFETCH_L1_LINE_AHEAD_2] = {"to L1, the same line 2 rows ahead", 2, true, true, false, false},
    [INLAY_PREFETCH_L2_LINE_AHEAD_2] = {"to L2, the same line 2 rows ahead", 2, true, false, false, false},
    [INLAY_PREFETCH_L2_LINE_AHEAD_8] = {"to L2, the same line 8 rows ahead", 8, true, false, false, false},
    [INLAY_PREFETCH_L2_ROW_AHEAD_16] = {"to L2, row i + 16 before row i", INLAY_MAX_AHEAD, false, false, false, false},
    [INLAY_PREFETCH_L2_BLOCKS] = {"to L2, blocks of rows, each before the last is read", 0, false, false, false, true},
};

enum {
    BY_LOOP = 1 << INLAY_PREFETCH_NONE | 1 << INLAY_PREFETCH_LINES | 1 << INLAY_PREFETCH_L2_BLOCKS,
    LINE_AHEAD =
        1 << INLAY_PREFETCH_L1_LINE_AHEAD_2 | 1 << INLAY_PREFETCH_L2_LINE_AHEAD_2 | 1 << INLAY_PREFETCH_L2_LINE_AHEAD_8,
};

const struct inlay_prefetcher_strategies inlay_prefetchers[] = {
    [INLAY_PREFETCHER_NONE] = {BY_LOOP, INLAY_PREFETCH_L2_BLOCKS},
    [INLAY_PREFETCHER_ROWS] = {BY_LOOP | LINE_AHEAD | 1 << INLAY_PREFETCH_L2_ROW_AHEAD_16, INLAY_PREFETCH_L2_BLOCKS},
    [INLAY_PREFETCHER_SINUSOIDS] = {1 << INLAY_PREFETCH_NONE | LINE_AHEAD, INLAY_PREFETCH_L2_LINE_AHEAD_2},
};
