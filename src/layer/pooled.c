/* SPDX-License-Identifier: MIT */
/*
 * Pooling: sums the rows of each sequence, in token order.
 */
#include "base/bits.h"
#include "base/line.h"
#include "layer/group.h"

#include <string.h>

struct pooling {
    const struct inlay_part *part;
    struct inlay_tile tile; /* the rows to add next */
    unsigned char *sum;
    size_t prefetched, end; /* end of the prefetched tokens; end of the part */
};

/* Sets whether the following rows are added to the sum or replace it. The first row of a sequence is a separate tile:
   it isn't added to zeros, which would turn -0 into 0. */
static void add_to_sum(struct inlay_tile *tile, bool adds)
{
    tile->call.positions = adds ? tile->positions : NULL;
}

static void prefetch_rows(struct pooling *pooling, size_t token, size_t count)
{
    pooling->prefetched = inlay_prefetch_tokens(pooling->part, token, count, pooling->prefetched, pooling->end);
}

/* Sums the rows of a sequence whose tokens have no weights and are fully described by pointers. */
static void sum_addresses(struct pooling *pooling, struct inlay_sequence sequence)
{
    const struct inlay_part *part = pooling->part;
    struct inlay_tile *tile = &pooling->tile;
    for (size_t done = 0, n; done < sequence.count; done += n) {
        const struct inlay_strategy *strategy = &inlay_strategies[part->timer->prefetch];
        const size_t token = sequence.first + done;
        n = done == 0 ? 1 : inlay_min(sequence.count - done, INLAY_BLOCK_ROWS);
        /* Offsets may have changed since the part started. */
        const size_t left = pooling->end > token + n ? pooling->end - (token + n) : 0;
        const size_t following = inlay_min(left, strategy->ahead);
        prefetch_rows(pooling, token, n);
        inlay_row_addresses(part->work, token, n + following, tile->rows);
        for (size_t i = 0; i < n; i++)
            tile->positions[i] = tile->out[i] = pooling->sum;
        tile->count = n;
        add_to_sum(tile, done > 0);
        inlay_tile_run_ahead(tile, strategy, following);
        inlay_part_timer_wrote(part->timer, n * part->work->row_bytes);
    }
}

/* Sums the rows of a sequence. Returns their number. */
static size_t sum_rows(struct pooling *pooling, struct inlay_sequence sequence)
{
    const struct inlay_work *work = pooling->part->work;
    struct inlay_tile *tile = &pooling->tile;
    const bool weighted = inlay_is_weighted(work);
    const size_t end = sequence.first + sequence.count;
    size_t pooled = 0;
    if (inlay_pools_addresses(work)) {
        sum_addresses(pooling, sequence);
        return sequence.count;
    }
    for (size_t token = sequence.first; token < end; token++) {
        size_t row;
        uint64_t id;
        prefetch_rows(pooling, token, 1);
        if (inlay_row_and_id_of(work, token, &row, &id) != INLAY_ROW)
            continue;
        add_to_sum(tile, pooled > 0);
        tile->call.scale = inlay_pooled_factor(work, token, id);
        inlay_tile_append(tile, inlay_row_place(work->tokens, row, 0), (struct inlay_terms){pooling->sum, NULL},
                          pooling->sum);
        if (weighted || pooled == 0) /* a kernel call has a single factor */
            inlay_tile_run(tile);
        pooled++;
    }
    if (!weighted && pooled > 1)
        inlay_tile_run(tile);
    inlay_part_timer_wrote(pooling->part->timer, sequence.count * work->row_bytes);
    return pooled;
}

/* Not inlined, so its arithmetic stays within its caller's guarded environment. */
static __attribute__((noinline)) void divide(unsigned char *row, size_t columns, float n)
{
    for (size_t column = 0; column < columns; column++)
        inlay_store_f32(row, column, inlay_load_f32(row, column) / n);
}

static void pool(struct pooling *pooling, size_t b, unsigned char *out)
{
    const struct inlay_part *part = pooling->part;
    const struct inlay_work *work = part->work;
    const struct inlay_sequence sequence = inlay_sequence_of(work, b);
    const size_t dim = work->tokens->dim, pooled = sum_rows(pooling, sequence);
    if (pooled == 0)
        memset(pooling->sum, 0, dim * sizeof(float));
    if (work->spec->pooling == INLAY_POOLING_MEAN && pooled > 1)
        divide(pooling->sum, dim, (float)pooled);
    const struct inlay_group group = {
        .part = part, .first = b, .count = 1, .kinds = {INLAY_ROW}, .floats = {pooling->sum}, .columns = dim};
    inlay_finish_group(&group, &out);
}

__attribute__((noinline)) void inlay_run_pooled(const struct inlay_part *part)
{
    _Alignas(INLAY_CACHE_LINE) unsigned char floats[INLAY_SUM_BYTES];
    const struct inlay_work *work = part->work;
    const struct inlay_sequence last = inlay_sequence_of(work, part->b_end - 1);
    const bool in_place = work->spec->out_type == INLAY_F32 && !part->plan->transfers.stream;
    struct pooling pooling;
    /* No timer: rows are prefetched across the ends of sequences, which a tile can't do. */
    inlay_tile_begin(&pooling.tile, &part->plan->transfers, NULL, work->tokens, work->spec->scale, work->tokens->dim,
                     true, INLAY_F32);
    pooling.tile.call.stream = false;
    pooling.part = part;
    pooling.prefetched = inlay_sequence_of(work, part->b).first;
    pooling.end = last.first + last.count;
    for (size_t b = part->b; b < part->b_end; b++) {
        unsigned char *out = work->out + b * work->out_stride_bytes;
        pooling.sum = in_place ? out : floats;
        pool(&pooling, b, out);
    }
}
