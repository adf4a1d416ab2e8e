/* SPDX-License-Identifier: MIT */
/*
 * Calls the embed kernel, and prefetches before and during the calls.
 *
 * Token rows are at random addresses, so the hardware prefetcher restarts for each of them. There are three kinds of
 * strategies. The first prefetches all rows of a block before the kernel reads the previous block, so the page walks
 * that prefetches wait for overlap. The second lets the kernel prefetch a later row while it writes one, so requests
 * are always in flight. In both, a full block waits until the next one's rows are known. The third prefetches the first
 * lines of a block's rows just before the kernel reads them.
 */
#include "tile/tile.h"

#include "base/line.h"

#include <string.h>

/* A short loop: a prefetch waits for its page walk, and walks overlap only within the CPU's reorder window. */
void inlay_prefetch_rows(const struct inlay_strategy *strategy, const unsigned char *const *rows,
                         const unsigned char *const *scales, size_t n, size_t row_bytes)
{
    /* gcc considers a function that only prefetches to have no effects, and drops calls to it. */
    __asm__ volatile("");
    for (size_t i = 0; i < n; i++) {
        if (scales != NULL)
            inlay_prefetch_line(scales[i], true);
        if (strategy->blocks)
            inlay_prefetch_lines(rows[i], row_bytes, false);
        else
            inlay_prefetch_lines(rows[i], inlay_min(row_bytes, INLAY_LINES * INLAY_CACHE_LINE), true);
    }
}

static void use_strategy(struct inlay_tile *tile)
{
    tile->strategy = &inlay_strategies[tile->timer != NULL ? tile->timer->prefetch : INLAY_PREFETCH_NONE];
    tile->block = inlay_block_rows(tile->strategy, tile->row_bytes);
    /* Blocks are short enough to check the clock between them. */
    if (tile->timer != NULL && tile->timer->choices->tuned != NULL)
        tile->block = inlay_min(tile->block, inlay_max(INLAY_TUNE_PART_BYTES / 2 / tile->out_bytes, 1));
}

void inlay_tile_begin(struct inlay_tile *tile, const struct inlay_transfers *transfers, struct inlay_part_timer *timer,
                      const inlay_table *table, float scale, size_t columns, bool positioned,
                      inlay_element_type out_type)
{
    /* Field by field: an initializer would zero the whole struct first. run_kernel() and run_staged() set the rest. */
    tile->call.type = table->type;
    tile->call.out_type = out_type;
    tile->call.scales = inlay_row_formats[table->type].scales != INLAY_SCALES_NONE ? tile->scales : NULL;
    tile->call.zeros = inlay_has_zeros(table) ? tile->zeros : NULL;
    tile->call.group = table->group;
    tile->call.positions = positioned ? tile->positions : NULL;
    tile->call.segments = NULL;
    tile->call.sums = NULL;
    tile->call.squares_only = false;
    tile->call.columns = columns;
    tile->call.scale = scale;
    tile->call.stream = transfers->stream;
    tile->call.narrow_transfers = transfers->narrow_transfers;
    tile->kernel = transfers->kernels->embed;
    tile->stage = NULL;
    tile->begin = tile->count = 0;
    tile->waits = false;
    tile->timer = timer;
    tile->row_bytes = inlay_table_row_bytes(table->type, columns);
    tile->out_bytes = columns * inlay_type_bytes(out_type);
    use_strategy(tile);
}

void inlay_tile_stage(struct inlay_tile *tile, const struct inlay_stage *stage)
{
    tile->stage = stage;
    tile->call.out_type = INLAY_F32;
    tile->call.stream = false;
}

bool inlay_tile_takes_both(const inlay_table *a, const inlay_table *b)
{
    return a->type == b->type && a->group == b->group && inlay_has_zeros(a) == inlay_has_zeros(b);
}

/* Runs the kernel on `count` rows from row `begin`. */
static void run_kernel(struct inlay_tile *tile, size_t begin, size_t count, const unsigned char *const *next,
                       unsigned char *const *out)
{
    tile->call.rows = tile->rows + begin;
    tile->call.scales = tile->call.scales != NULL ? tile->scales + begin : NULL;
    tile->call.zeros = tile->call.zeros != NULL ? tile->zeros + begin : NULL;
    tile->call.zero_at = tile->zero_at + begin;
    tile->call.positions = tile->call.positions != NULL ? tile->positions + begin : NULL;
    tile->call.segments = tile->call.segments != NULL ? tile->segments + begin : NULL;
    tile->call.out = out;
    tile->call.next = next;
    tile->call.by_line = tile->strategy->by_line;
    tile->call.near = tile->strategy->near;
    tile->call.count = count;
    tile->kernel(&tile->call);
}

/* Does the same, a few rows at a time in the stage. For norms of 384 floats, 4 rows take 0.95 of the time of 8
   (Zen 4). */
static void run_staged(struct inlay_tile *tile, size_t begin, size_t count, const unsigned char *const *next)
{
    const struct inlay_stage *stage = tile->stage;
    const size_t columns = tile->call.columns, most = inlay_min(INLAY_SUM_FLOATS / columns, INLAY_NORM_ROWS);
    unsigned char *floats[INLAY_NORM_ROWS];
    struct inlay_row_sums sums[INLAY_NORM_ROWS];
    for (size_t i = 0; i < most; i++)
        floats[i] = stage->floats + i * columns * sizeof(float);
    tile->call.sums = stage->sums ? sums : NULL;
    tile->call.squares_only = stage->squares_only;
    for (size_t i = 0; i < count; i += most) {
        const size_t rows = inlay_min(count - i, most);
        run_kernel(tile, begin + i, rows, next != NULL ? next + i : NULL, floats);
        stage->finish(stage->context, floats, tile->call.sums, tile->out + begin + i, rows);
    }
}

/* Runs the kernel on `count` rows from row `begin`. If the kernel prefetches ahead, it gets the rows of this block,
   then the first rows of the next block, which starts at row `follows` and has `following` rows so far. */
static void run_block(struct inlay_tile *tile, size_t begin, size_t count, size_t follows, size_t following)
{
    const unsigned char *next[INLAY_BLOCK_ROWS + INLAY_MAX_AHEAD];
    const size_t ahead = tile->strategy->ahead, after = inlay_min(ahead, following);
    if (ahead > 0) {
        memcpy(next, tile->rows + begin, count * sizeof *next);
        memcpy(next + count, tile->rows + follows, after * sizeof *next);
        for (size_t i = count + after; i < count + ahead; i++)
            next[i] = next[i - 1]; /* already in a cache */
    }
    if (tile->stage != NULL)
        run_staged(tile, begin, count, ahead > 0 ? next + ahead : NULL);
    else
        run_kernel(tile, begin, count, ahead > 0 ? next + ahead : NULL, tile->out + begin);
}

static size_t other_block(const struct inlay_tile *tile)
{
    return tile->begin == 0 ? tile->block : 0;
}

/* Runs the kernel on the waiting block, if there is one. The block after it has `following` rows so far. Returns the
   number of rows written. */
static size_t run_waiting(struct inlay_tile *tile, size_t following)
{
    const size_t rows = tile->waits ? tile->block : 0;
    if (rows > 0)
        run_block(tile, other_block(tile), rows, tile->begin, following);
    tile->waits = false;
    return rows;
}

/* Processes the block just filled. Prefetches its rows, if the strategy does that before the kernel, and runs the
   kernel on the other block if that one waits. Then runs it on this block too, unless this block may wait. Reports the
   written bytes to the timer. */
static void take_block(struct inlay_tile *tile, bool may_wait)
{
    const unsigned char *const *scales = tile->call.scales != NULL ? tile->scales + tile->begin : NULL;
    if (tile->strategy->lines || tile->strategy->blocks)
        inlay_prefetch_rows(tile->strategy, tile->rows + tile->begin, scales, tile->count, tile->row_bytes);
    size_t rows = run_waiting(tile, tile->count);
    if (may_wait && (tile->strategy->blocks || tile->strategy->ahead > 0)) {
        tile->begin = other_block(tile);
        tile->waits = true;
    } else if (tile->count > 0) {
        run_block(tile, tile->begin, tile->count, 0, 0);
        rows += tile->count;
    }
    tile->count = 0;
    if (tile->timer != NULL && rows > 0 && inlay_part_timer_wrote(tile->timer, rows * tile->out_bytes)) {
        run_waiting(tile, 0); /* the next strategy's blocks have another size */
        tile->begin = 0;
        use_strategy(tile);
    }
}

void inlay_tile_next(struct inlay_tile *tile)
{
    take_block(tile, true);
}

void inlay_tile_run(struct inlay_tile *tile)
{
    take_block(tile, false);
    tile->begin = 0;
}

void inlay_tile_run_ahead(struct inlay_tile *tile, const struct inlay_strategy *strategy, size_t following)
{
    tile->strategy = strategy;
    run_block(tile, 0, tile->count, tile->count, following);
    tile->count = 0;
}
