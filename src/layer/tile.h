/* SPDX-License-Identifier: MIT */
/*
 * The tile: rows, what is added to them and where they go, as arrays of pointers for one call of the embed kernel.
 * Every route builds its kernel calls here.
 */
#ifndef INLAY_LAYER_TILE_H
#define INLAY_LAYER_TILE_H

#include "layer/plan.h"
#include "table/view.h"

/* Tokens whose pointers one kernel call gets. */
enum { INLAY_TILE_TOKENS = 128 };

struct inlay_tile {
    struct inlay_embed_tile call; /* what the kernel gets; its arrays are those below */
    void (*kernel)(const struct inlay_embed_tile *tile);
    bool quantised;
    size_t count;
    const unsigned char *rows[INLAY_TILE_TOKENS];
    const unsigned char *scales[INLAY_TILE_TOKENS];
    size_t zero_at[INLAY_TILE_TOKENS];
    const unsigned char *positions[INLAY_TILE_TOKENS];
    unsigned char *out[INLAY_TILE_TOKENS];
};

/* Begins an empty tile of rows of `table` times `scale`, `columns` of each, plus positions[i] if `positioned`. */
void inlay_tile_begin(struct inlay_tile *tile, const struct inlay_plan *plan, const inlay_table *table, float scale,
                      size_t columns, bool positioned);

/* Runs the kernel on all tokens but the last `carried`, which it prefetches and which stay for the next run. */
void inlay_tile_run(struct inlay_tile *tile, size_t carried);

/* Appends one row, and runs the kernel if the tile is full. */
static inline void inlay_tile_append(struct inlay_tile *tile, struct inlay_row_place row, const unsigned char *position,
                                     unsigned char *out)
{
    const size_t i = tile->count++;
    tile->rows[i] = row.row;
    tile->scales[i] = row.scales;
    tile->zero_at[i] = row.zero_at;
    tile->positions[i] = position;
    tile->out[i] = out;
    if (tile->count == INLAY_TILE_TOKENS)
        inlay_tile_run(tile, tile->call.prefetch_rows);
}

#endif
