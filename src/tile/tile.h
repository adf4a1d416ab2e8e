/* SPDX-License-Identifier: MIT */
/*
 * The tile: arrays of pointers to rows, positions and outputs for one call of the embed kernel. All code that gathers
 * rows calls the kernel through a tile.
 */
#pragma once

#include "base/minmax.h"
#include "table/view.h"
#include "tile/transfer.h"

/* Capacity in tokens: two blocks. */
enum { INLAY_TILE_TOKENS = 2 * INLAY_BLOCK_ROWS };

/* Rows summed as floats go through a buffer that stays in L1. Longer rows are split into pieces, or computed in the
   output. Quantized rows can be split at multiples of INLAY_COLUMN_STEP columns. */
enum { INLAY_SUM_BYTES = 16 * 1024, INLAY_SUM_FLOATS = INLAY_SUM_BYTES / 4, INLAY_COLUMN_STEP = 256 };
_Static_assert(INLAY_SUM_FLOATS % INLAY_COLUMN_STEP == 0, "long rows are split at multiples of INLAY_COLUMN_STEP");

/* float32 rows to add to a row; null: none. The kernel adds `position` first; if segments come first, they are swapped.
   There is no segment without a position. */
struct inlay_terms {
    const unsigned char *position, *segment;
};

/*
 * Where a tile sums rows as floats, a few at a time, if the kernel can't write them as the output: post-ops follow, or
 * the kernel has no such output type. `finish` then writes them to out[i]. It gets the sums of each row, or null
 * without `sums`.
 */
struct inlay_stage {
    unsigned char *floats; /* INLAY_SUM_BYTES, which stay in L1 */
    bool sums;             /* `finish` needs the sums of rows, */
    bool squares_only;     /* but only those of squares */
    void (*finish)(const void *context, unsigned char *const *floats, const struct inlay_row_sums *sums,
                   unsigned char *const *out, size_t count);
    const void *context;
};

struct inlay_tile {
    struct inlay_embed_tile call; /* the kernel's argument; points to the arrays below */
    void (*kernel)(const struct inlay_embed_tile *tile);
    const struct inlay_stage *stage; /* null: the kernel writes the output */
    struct inlay_part_timer *timer;  /* selects the prefetch strategy; null: no prefetching */
    const struct inlay_strategy *strategy;
    size_t row_bytes;    /* bytes of a row's columns */
    size_t out_bytes;    /* bytes of their output */
    size_t block;        /* tokens of a full block */
    size_t begin, count; /* the block being filled */
    bool waits;          /* the other block is full and waits for the kernel */
    const unsigned char *rows[INLAY_TILE_TOKENS];
    const unsigned char *scales[INLAY_TILE_TOKENS];
    const unsigned char *zeros[INLAY_TILE_TOKENS];
    size_t zero_at[INLAY_TILE_TOKENS];
    const unsigned char *positions[INLAY_TILE_TOKENS];
    const unsigned char *segments[INLAY_TILE_TOKENS];
    unsigned char *out[INLAY_TILE_TOKENS];
};

/* Initializes an empty tile for rows table[id] * scale, `columns` of each, plus positions[i] if `positioned`, written
   as `out_type`. Set call.segments to add segments[i] too, and call inlay_tile_stage() for a stage. */
void inlay_tile_begin(struct inlay_tile *tile, const struct inlay_transfers *transfers, struct inlay_part_timer *timer,
                      const inlay_table *table, float scale, size_t columns, bool positioned,
                      inlay_element_type out_type);

/* Makes an empty tile of at most INLAY_SUM_FLOATS columns sum its rows in a stage. */
void inlay_tile_stage(struct inlay_tile *tile, const struct inlay_stage *stage);

/* True if rows of both tables can share a tile. */
bool inlay_tile_takes_both(const inlay_table *a, const inlay_table *b);

/* Processes the block just filled, as the strategy prescribes: prefetches its rows, runs the kernel on it or on the
   block before it. Then starts the next block. */
void inlay_tile_next(struct inlay_tile *tile);

/* Runs the kernel on all rows of the tile and empties it. */
void inlay_tile_run(struct inlay_tile *tile);

/* Does the same for a tile without a timer, using `strategy` to prefetch ahead. `following` more rows come after those
   of the tile. */
void inlay_tile_run_ahead(struct inlay_tile *tile, const struct inlay_strategy *strategy, size_t following);

/* Prefetches n rows, whole or only their first lines as the strategy prescribes, and the start of their scales.
   `scales` is null if the scales are in the rows. */
void inlay_prefetch_rows(const struct inlay_strategy *strategy, const unsigned char *const *rows,
                         const unsigned char *const *scales, size_t n, size_t row_bytes);

/* Returns the number of rows of `row_bytes` in a block. */
static inline size_t inlay_block_rows(const struct inlay_strategy *strategy, size_t row_bytes)
{
    if (strategy->blocks)
        return inlay_max(inlay_min(INLAY_BLOCK_BYTES / row_bytes, INLAY_BLOCK_ROWS), 1);
    return strategy->lines ? INLAY_LINES_ROWS : INLAY_BLOCK_ROWS;
}

/* Appends a row; calls inlay_tile_next() if that fills the block. */
static inline void inlay_tile_append(struct inlay_tile *tile, struct inlay_row_place row, struct inlay_terms terms,
                                     unsigned char *out)
{
    const size_t i = tile->begin + tile->count++;
    tile->rows[i] = row.row;
    tile->scales[i] = row.scales;
    tile->zeros[i] = row.zeros;
    tile->zero_at[i] = row.zero_at;
    tile->positions[i] = terms.position;
    tile->segments[i] = terms.segment;
    tile->out[i] = out;
    if (tile->count == tile->block)
        inlay_tile_next(tile);
}
