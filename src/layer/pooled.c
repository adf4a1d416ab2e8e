/* SPDX-License-Identifier: MIT */
/*
 * Pooling: the rows of a sequence are added one on top of the other, in the order of tokens.
 */
#include "base/bits.h"
#include "base/line.h"
#include "layer/group.h"

#include <string.h>

/* Begins a tile that adds rows to the floats in `sum`, or replaces these by its one row. */
static void begin_pooled(struct inlay_tile *tile, const struct inlay_part *part, bool adds)
{
    const struct inlay_work *work = part->work;
    /* sum_rows() has prefetched the rows */
    inlay_tile_begin(tile, &part->plan->moves, NULL, work->tokens, work->spec->scale, work->tokens->dim, adds,
                     INLAY_F32);
    tile->call.stream = false;
}

/* Tokens of a part whose rows are prefetched together, over the ends of sequences. */
struct prefetch {
    size_t done, end; /* up to where rows are prefetched; the end of the part */
};

/* Adds up the rows of a sequence in `sum`, of tokens without weights whose addresses suffice. The first row is a tile
   of its own, for the reason that sum_rows() has. */
static void sum_addresses(const struct inlay_part *part, struct inlay_sequence sequence, struct prefetch *prefetch,
                          unsigned char *sum)
{
    const struct inlay_work *work = part->work;
    struct inlay_tile tile;
    for (size_t done = 0, n; done < sequence.count; done += n) {
        const size_t token = sequence.first + done;
        n = done == 0 ? 1 : inlay_least(sequence.count - done, INLAY_BLOCK_ROWS);
        prefetch->done = inlay_prefetch_tokens(part, token, n, prefetch->done, prefetch->end);
        if (done <= 1)
            begin_pooled(&tile, part, done > 0);
        inlay_row_addresses(work, token, n, tile.rows);
        for (size_t i = 0; i < n; i++)
            tile.positions[i] = tile.out[i] = sum;
        tile.count = n;
        inlay_tile_run(&tile);
    }
}

/* Adds up the rows of a sequence in `sum`; returns how many they are. */
static size_t sum_rows(const struct inlay_part *part, struct inlay_sequence sequence, struct prefetch *prefetch,
                       unsigned char *sum)
{
    const struct inlay_work *work = part->work;
    struct inlay_tile tile;
    const bool weighted = inlay_is_weighted(work);
    const size_t end = sequence.first + sequence.count;
    size_t pooled = 0;
    if (!weighted && inlay_addresses_suffice(work)) {
        sum_addresses(part, sequence, prefetch, sum);
        return sequence.count;
    }
    for (size_t token = sequence.first; token < end; token++) {
        size_t row;
        uint64_t id;
        prefetch->done = inlay_prefetch_tokens(part, token, 1, prefetch->done, prefetch->end);
        if (inlay_row_and_id_of(work, token, &row, &id) != INLAY_ROW)
            continue;
        /* The first row is not added to zeros, which would turn -0 into 0. */
        if (pooled <= 1)
            begin_pooled(&tile, part, pooled > 0);
        tile.call.scale = inlay_pooled_factor(work, token, id);
        inlay_tile_append(&tile, inlay_row_place(work->tokens, row, 0), sum, sum);
        if (weighted || pooled == 0) /* a call of the kernel has one factor */
            inlay_tile_run(&tile);
        pooled++;
    }
    if (!weighted && pooled > 1)
        inlay_tile_run(&tile);
    return pooled;
}

/* Not inlined, so that its arithmetic stays within the guarded environment of its caller. */
static __attribute__((noinline)) void divide(unsigned char *row, size_t columns, float n)
{
    for (size_t column = 0; column < columns; column++)
        inlay_store_f32(row, column, inlay_load_f32(row, column) / n);
}

static void pool(const struct inlay_part *part, size_t b, struct prefetch *prefetch, unsigned char *sum)
{
    const struct inlay_work *work = part->work;
    memset(sum, 0, work->tokens->dim * sizeof(float));
    const size_t pooled = sum_rows(part, inlay_sequence_of(work, b), prefetch, sum);
    if (work->spec->pooling == INLAY_POOLING_MEAN && pooled > 1)
        divide(sum, work->tokens->dim, (float)pooled);
    const struct inlay_group group = {
        .part = part, .first = b, .count = 1, .kinds = {INLAY_ROW}, .floats = {sum}, .columns = work->tokens->dim};
    unsigned char *out = work->out + b * work->out_stride_bytes;
    inlay_finish_group(&group, &out);
    inlay_pace_wrote(part->pace, inlay_sequence_of(work, b).count * work->row_bytes);
}

__attribute__((noinline)) void inlay_run_pooled(const struct inlay_part *part)
{
    _Alignas(INLAY_CACHE_LINE) unsigned char sum[INLAY_GROUP_BYTES];
    const struct inlay_sequence last = inlay_sequence_of(part->work, part->b_end - 1);
    struct prefetch prefetch = {inlay_sequence_of(part->work, part->b).first, last.first + last.count};
    for (size_t b = part->b; b < part->b_end; b++)
        pool(part, b, &prefetch, sum);
}
