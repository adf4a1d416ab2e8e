/* SPDX-License-Identifier: MIT */
/*
 * Calls of the embed kernel, and the prefetching before them.
 *
 * Token rows lie apart at random, so that the hardware's prefetcher starts again in each. Whole rows are prefetched a
 * block ahead, to L2, which can have more requests to memory under way than L1: one behind the other before the kernel
 * reads the block before, so that the walks through the page table overlap, which a prefetch waits for; or, where few
 * walks are to be waited for, by the kernel, one before each row that it writes, so that requests are always under way.
 */
#include "tile/tile.h"

#include "base/line.h"

/* The loop has few instructions: a prefetch waits for the walk through the page table, and walks overlap only as far as
   the CPU looks ahead. */
void inlay_prefetch_rows(const struct inlay_moves *moves, const unsigned char *const *rows,
                         const unsigned char *const *scales, size_t n, size_t row_bytes)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char *line = rows[i] - (uintptr_t)rows[i] % INLAY_CACHE_LINE, *end = rows[i] + row_bytes;
        if (scales != NULL)
            __builtin_prefetch(scales[i]);
        if (moves->whole_rows)
            inlay_prefetch_lines(rows[i], row_bytes);
        else
            for (size_t l = 0; l < INLAY_PREFETCH_LINES && line < end; l++, line += INLAY_CACHE_LINE)
                __builtin_prefetch(line);
    }
}

void inlay_tile_begin(struct inlay_tile *tile, const struct inlay_moves *moves, const inlay_table *table, float scale,
                      size_t columns, bool positioned)
{
    tile->call = (struct inlay_embed_tile){
        .type = table->type,
        .out_type = INLAY_F32,
        .rows = tile->rows,
        .scales = inlay_row_formats[table->type].scales != INLAY_SCALES_NONE ? tile->scales : NULL,
        .zeros = inlay_has_zeros(table) ? tile->zeros : NULL,
        .zero_at = tile->zero_at,
        .group = table->group,
        .positions = positioned ? tile->positions : NULL,
        .out = tile->out,
        .columns = columns,
        .scale = scale,
        .stream = moves->stream,
        .narrow_moves = moves->narrow_moves,
    };
    tile->kernel = moves->kernels->embed;
    tile->moves = moves->prefetch_rows > 0 ? moves : NULL;
    tile->row_bytes = moves->prefetch_rows > 0 ? inlay_table_row_bytes(table->type, columns) : 0;
    tile->block = moves->prefetch_rows > 0 ? moves->prefetch_rows : INLAY_PREFETCH_ROWS;
    tile->begin = tile->count = 0;
    tile->waits = false;
}

bool inlay_tile_takes_both(const inlay_table *a, const inlay_table *b)
{
    return a->type == b->type && a->group == b->group && inlay_has_zeros(a) == inlay_has_zeros(b);
}

static void prefetch_block(const struct inlay_tile *tile)
{
    const unsigned char *const *scales = tile->call.scales != NULL ? tile->scales + tile->begin : NULL;
    if (tile->moves != NULL)
        inlay_prefetch_rows(tile->moves, tile->rows + tile->begin, scales, tile->count, tile->row_bytes);
}

/* Computes the block of `count` rows that begins at row `begin`, while the kernel prefetches the rows of `next`. */
static void run_block(struct inlay_tile *tile, size_t begin, size_t count, const unsigned char *const *next)
{
    tile->call.rows = tile->rows + begin;
    tile->call.scales = tile->call.scales != NULL ? tile->scales + begin : NULL;
    if (tile->call.zeros != NULL) {
        tile->call.zeros = tile->zeros + begin;
        tile->call.zero_at = tile->zero_at + begin;
    }
    tile->call.positions = tile->call.positions != NULL ? tile->positions + begin : NULL;
    tile->call.out = tile->out + begin;
    tile->call.next = next;
    tile->call.count = count;
    tile->kernel(&tile->call);
}

static size_t other_block(const struct inlay_tile *tile)
{
    return tile->begin == 0 ? tile->block : 0;
}

/* Prefetches the rows of the block that is being filled, and calls the kernel for the other one if that waits. */
static void run_waiting(struct inlay_tile *tile)
{
    const bool by_kernel = tile->waits && tile->count == tile->block && tile->moves->between_rows;
    if (!by_kernel)
        prefetch_block(tile);
    if (tile->waits)
        run_block(tile, other_block(tile), tile->block, by_kernel ? tile->rows + tile->begin : NULL);
}

void inlay_tile_next(struct inlay_tile *tile)
{
    run_waiting(tile);
    if (tile->moves != NULL && tile->moves->whole_rows) {
        tile->begin = other_block(tile);
        tile->waits = true;
    } else {
        run_block(tile, tile->begin, tile->count, NULL);
    }
    tile->count = 0;
}

void inlay_tile_run(struct inlay_tile *tile)
{
    run_waiting(tile);
    if (tile->count > 0)
        run_block(tile, tile->begin, tile->count, NULL);
    tile->waits = false;
    tile->count = 0;
}
