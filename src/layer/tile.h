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
    const struct inlay_plan *plan; /* how rows are prefetched; null: they are not */
    size_t row_bytes;              /* of the columns */
    size_t most;                   /* tokens of a kernel call */
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

/* Prefetches the rows of the tile as the plan says, runs the kernel on them and empties the tile. */
void inlay_tile_run(struct inlay_tile *tile);

/* Prefetches the rows of tokens [first, first + count), at most prefetch_rows of the plan, before tiles without
   prefetching read them. */
void inlay_prefetch_tokens(const struct inlay_part *part, size_t first, size_t count);

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
    if (tile->count == tile->most)
        inlay_tile_run(tile);
}

#endif
