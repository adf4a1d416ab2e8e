/* SPDX-License-Identifier: MIT */
/*
 * The tile: rows, what is added to them and where they go, as arrays of pointers for one call of the embed kernel.
 * Whatever gathers rows builds its kernel calls here.
 */
#pragma once

#include "base/least.h"
#include "table/view.h"
#include "tile/moves.h"

/* Tokens whose pointers a tile holds: two blocks. */
enum { INLAY_TILE_TOKENS = 2 * INLAY_BLOCK_ROWS };

/* Rows that are summed as floats in a buffer, which stays in L1. Longer ones are computed in pieces, or where they go;
   quantised rows can be entered at columns that are multiples of a step. */
enum { INLAY_SUM_BYTES = 16 * 1024, INLAY_SUM_FLOATS = INLAY_SUM_BYTES / 4, INLAY_COLUMN_STEP = 256 };
_Static_assert(INLAY_SUM_FLOATS % INLAY_COLUMN_STEP == 0, "pieces of long rows begin where rows can be entered");

struct inlay_tile {
    struct inlay_embed_tile call; /* what the kernel gets; its arrays are those below */
    void (*kernel)(const struct inlay_embed_tile *tile);
    struct inlay_pace *pace; /* says what is prefetched; null: the tile prefetches nothing by itself */
    const struct inlay_strategy *strategy;
    size_t row_bytes;    /* of the columns */
    size_t out_bytes;    /* of their output */
    size_t block;        /* tokens of a full block, for which the kernel is called */
    size_t begin, count; /* of the block that is being filled */
    bool waits;          /* the other block is full, and the kernel has not read it */
    const unsigned char *rows[INLAY_TILE_TOKENS];
    const unsigned char *scales[INLAY_TILE_TOKENS];
    const unsigned char *zeros[INLAY_TILE_TOKENS];
    size_t zero_at[INLAY_TILE_TOKENS];
    const unsigned char *positions[INLAY_TILE_TOKENS];
    unsigned char *out[INLAY_TILE_TOKENS];
};

/* Begins an empty tile of rows of `table` times `scale`, `columns` of each, plus positions[i] if `positioned`, which
   become rows of out_type. */
void inlay_tile_begin(struct inlay_tile *tile, const struct inlay_moves *moves, struct inlay_pace *pace,
                      const inlay_table *table, float scale, size_t columns, bool positioned,
                      inlay_element_type out_type);

/* Returns whether one tile takes the rows of both tables. */
bool inlay_tile_takes_both(const inlay_table *a, const inlay_table *b);

/* Takes the block that has been filled: prefetches from it or runs the kernel on it or on the one before it, as the
   strategy says, and begins the next. */
void inlay_tile_next(struct inlay_tile *tile);

/* Runs the kernel on all rows of the tile and empties it. */
void inlay_tile_run(struct inlay_tile *tile);

/* The same for a tile without a pace, whose kernel prefetches ahead as that strategy says. Behind the rows of the tile
   are `following` more that come next. */
void inlay_tile_run_ahead(struct inlay_tile *tile, const struct inlay_strategy *strategy, size_t following);

/* Prefetches n rows, as a strategy of blocks or of first lines says, and where their scales begin; `scales` is null if
   they have none outside of them. */
void inlay_prefetch_rows(const struct inlay_strategy *strategy, const unsigned char *const *rows,
                         const unsigned char *const *scales, size_t n, size_t row_bytes);

/* Returns how many rows of `row_bytes` make a block. */
static inline size_t inlay_block_rows(const struct inlay_strategy *strategy, size_t row_bytes)
{
    if (strategy->blocks)
        return inlay_most(inlay_least(INLAY_BLOCK_BYTES / row_bytes, INLAY_BLOCK_ROWS), 1);
    return strategy->lines ? INLAY_LINES_ROWS : INLAY_BLOCK_ROWS;
}

/* Appends one row, and calls inlay_tile_next() if its block is full. */
static inline void inlay_tile_append(struct inlay_tile *tile, struct inlay_row_place row, const unsigned char *position,
                                     unsigned char *out)
{
    const size_t i = tile->begin + tile->count++;
    tile->rows[i] = row.row;
    tile->scales[i] = row.scales;
    tile->zeros[i] = row.zeros;
    tile->zero_at[i] = row.zero_at;
    tile->positions[i] = position;
    tile->out[i] = out;
    if (tile->count == tile->block)
        inlay_tile_next(tile);
}
