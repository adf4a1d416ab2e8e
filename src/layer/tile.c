/* SPDX-License-Identifier: MIT */
/*
 * Calls of the embed kernel.
 */
#include "layer/tile.h"

#include <string.h>

void inlay_tile_begin(struct inlay_tile *tile, const struct inlay_plan *plan, const inlay_table *table, float scale,
                      size_t columns, bool positioned)
{
    tile->call = (struct inlay_embed_tile){
        .type = table->type,
        .rows = tile->rows,
        .scales = tile->scales,
        .zeros = table->zeros,
        .zero_at = tile->zero_at,
        .group = table->group,
        .positions = positioned ? tile->positions : NULL,
        .out = tile->out,
        .columns = columns,
        .scale = scale,
        .stream = plan->stream,
        .prefetch_whole_rows = plan->whole_rows,
        .narrow_moves = plan->narrow_moves,
        .prefetch_rows = plan->prefetch_rows,
    };
    tile->kernel = plan->kernels->embed;
    tile->quantised = table->type != INLAY_F32;
    tile->count = 0;
}

void inlay_tile_run(struct inlay_tile *tile, size_t carried)
{
    const size_t done = tile->count - carried;
    tile->call.count = done;
    tile->call.lookahead = carried;
    if (done > 0)
        tile->kernel(&tile->call);
    tile->count = carried;
    if (carried == 0)
        return;
    memcpy(tile->rows, tile->rows + done, carried * sizeof *tile->rows);
    memcpy(tile->positions, tile->positions + done, carried * sizeof *tile->positions);
    memcpy(tile->out, tile->out + done, carried * sizeof *tile->out);
    if (tile->quantised) {
        memcpy(tile->scales, tile->scales + done, carried * sizeof *tile->scales);
        memcpy(tile->zero_at, tile->zero_at + done, carried * sizeof *tile->zero_at);
    }
}
