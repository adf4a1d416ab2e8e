/* SPDX-License-Identifier: MIT */
/*
 * The fast path: positions in the outer loop, sequences in the inner one. A block of position rows, read or computed,
 * stays in L1 while every sequence of the part uses it. This file handles ids and positions; kernels do the arithmetic.
 */
#include "base/line.h"
#include "layer/rows.h"
#include "positions/generator.h"
#include "tile/tile.h"

/* Columns [column, column + columns) of tokens [s, s + count) of the sequences of a part. */
struct block {
    size_t s, count;
    size_t column;
    const unsigned char *positions; /* computed rows, starting at that column; null: rows in memory, if there are any */
    size_t position_stride_bytes;
    bool is_one_row; /* its tokens are contiguous and treated as one long row */
};

/* Tokens with consecutive ids and output rows. */
struct run {
    size_t first, count;           /* of the ids */
    unsigned char *out;            /* at the block's column */
    const unsigned char *position; /* row of the first token at the block's column; null: no such term */
    size_t position_stride_bytes;
    const int64_t *starts; /* [count], index of each token's row from `position`; null: consecutive rows */
};

/* Starts are loaded again after validation, and clamped to the rows, as ids are. */
static inline const unsigned char *position_of(const struct inlay_work *work, const struct run *run, size_t i)
{
    if (run->position == NULL)
        return NULL;
    if (run->starts != NULL) {
        uint64_t row = inlay_load_once((uint64_t)inlay_id_at(run->starts, INLAY_ID_I64, i));
        i = row < work->spec->positions->rows ? (size_t)row : 0;
    }
    return run->position + i * run->position_stride_bytes;
}

/* Returns the row in memory of token s of a sequence, the first of `count` rows. Starts are loaded again after
   validation, and clamped to the rows. */
static size_t position_row(const struct inlay_work *work, size_t b, struct inlay_sequence sequence, size_t s,
                           size_t count)
{
    const size_t row = inlay_start_of(work, b, sequence.count) + s;
    return row <= work->spec->positions->rows - count ? row : 0;
}

/* Appends rows given by pointer alone, as many tokens at once as fit. */
static void append_addresses(const struct inlay_work *work, const struct block *block, const struct run *run,
                             struct inlay_tile *tile)
{
    const struct inlay_row_format *format = &inlay_row_formats[work->tokens->type];
    const size_t column_bytes = (block->column >> format->log2_columns) * format->block_bytes;
    const size_t out_stride_bytes = work->out_stride_bytes;
    unsigned char *out = run->out;
    for (size_t done = 0; done < run->count;) {
        const size_t at = tile->begin + tile->count, n = inlay_min(run->count - done, tile->block - tile->count);
        inlay_row_addresses(work, run->first + done, n, tile->rows + at);
        for (size_t i = 0; i < n; i++) {
            tile->rows[at + i] += column_bytes;
            tile->out[at + i] = out;
            out += out_stride_bytes;
        }
        if (run->position != NULL)
            for (size_t i = 0; i < n; i++)
                tile->positions[at + i] = position_of(work, run, done + i);
        done += n;
        tile->count += n;
        if (tile->count == tile->block)
            inlay_tile_next(tile);
    }
}

/* Appends rows with scales, or rows of ids with special rows, token by token. */
static void append_resolved(const struct inlay_part *part, const struct block *block, const struct run *run,
                            struct inlay_tile *tile)
{
    const struct inlay_work *work = part->work;
    for (size_t i = 0; i < run->count; i++) {
        const struct inlay_terms terms = {position_of(work, run, i), NULL};
        unsigned char *out = run->out + i * work->out_stride_bytes;
        size_t row;
        enum inlay_row_kind kind = inlay_row_of(work, run->first + i, &row);
        if (kind == INLAY_ROW)
            inlay_tile_append(tile, inlay_row_place(work->tokens, row, block->column), terms, out);
        else
            inlay_write_special_row(part->plan->transfers.kernels, kind, work->spec->scale, terms, out,
                                    tile->call.columns);
    }
}

/* Appends the tokens of a block to the tile. Some may stay in it until the next block or the final inlay_tile_run(). */
static void append_block(const struct inlay_part *part, const struct block *block, struct inlay_tile *tile)
{
    const struct inlay_work *work = part->work;
    const bool in_memory = block->positions == NULL && work->spec->positions != NULL;
    const size_t column_bytes = block->column * sizeof(float);
    /* Sequences of one token each are one run. */
    const bool one_token_each = work->batch.length == 1 && work->batch.offsets == NULL;
    const size_t together = one_token_each ? part->b_end - part->b : 1;
    for (size_t b = part->b; b < part->b_end; b += together) {
        const struct inlay_sequence sequence = inlay_sequence_of(work, b);
        if (sequence.count <= block->s)
            continue;
        size_t count = inlay_min(block->count, sequence.count - block->s);
        struct run run = {
            .first = sequence.first + block->s,
            .out = inlay_out_of(work, sequence, b, block->s) + column_bytes,
            .position = block->positions,
            .position_stride_bytes = block->position_stride_bytes,
        };
        if (in_memory) {
            /* Offsets may have changed since validation. */
            count = inlay_min(count, work->spec->positions->rows);
            run.position = (const unsigned char *)work->spec->positions->data + column_bytes;
            run.position_stride_bytes = work->spec->positions->stride_bytes;
            if (one_token_each && work->batch.starts != NULL) {
                run.starts = work->batch.starts + b;
            } else {
                run.position += position_row(work, b, sequence, block->s, count) * run.position_stride_bytes;
            }
        }
        if (one_token_each && run.starts == NULL)
            run.position_stride_bytes = 0;
        run.count = one_token_each ? together : block->is_one_row ? 1 : count;
        if (inlay_addresses_suffice(work))
            append_addresses(work, block, &run, tile);
        else
            append_resolved(part, block, &run, tile);
    }
}

static void begin_fast(struct inlay_tile *tile, const struct inlay_part *part, size_t columns)
{
    const struct inlay_work *work = part->work;
    inlay_tile_begin(tile, &part->plan->transfers, part->timer, work->tokens, work->spec->scale, columns,
                     work->spec->positions != NULL, work->spec->out_type);
}

/* Computes the only token of a part, if it is given by pointer alone, with a single kernel call. A tile and the loops
   over blocks and runs would take longer than the row. */
static void embed_token(const struct inlay_part *part)
{
    const struct inlay_work *work = part->work;
    const struct inlay_transfers *transfers = &part->plan->transfers;
    const struct inlay_sequence sequence = inlay_sequence_of(work, part->b);
    const unsigned char *row, *position = NULL;
    if (part->s >= sequence.count)
        return;
    unsigned char *const out = inlay_out_of(work, sequence, part->b, part->s);
    if (work->spec->positions != NULL)
        position = inlay_row_place(work->spec->positions, position_row(work, part->b, sequence, part->s, 1), 0).row;
    inlay_row_addresses(work, sequence.first + part->s, 1, &row);
    const struct inlay_embed_tile call = {
        .type = work->tokens->type,
        .out_type = work->spec->out_type,
        .rows = &row,
        .positions = position != NULL ? &position : NULL,
        .out = &out,
        .count = 1,
        .columns = work->tokens->dim,
        .scale = work->spec->scale,
        .stream = transfers->stream,
        .narrow_transfers = transfers->narrow_transfers,
    };
    transfers->kernels->embed(&call);
}

/* Returns true if all rows of a sequence are contiguous and can be treated as one long row. Only scale() and
   add_positions() have such rows: their tokens have no ids. */
static bool rows_are_one(const struct inlay_work *work)
{
    const size_t row_bytes = work->row_bytes;
    const inlay_table *positions = work->spec->positions;
    return work->batch.ids == NULL && work->tokens->stride_bytes == row_bytes && work->out_stride_bytes == row_bytes &&
           (positions == NULL || (positions->type == INLAY_F32 && positions->stride_bytes == row_bytes));
}

/* Computes one block whose position rows need not stay. Not inlined, so its tile isn't in the frame of a function that
   has a generator. */
static __attribute__((noinline)) void embed_block(const struct inlay_part *part, const struct block *block,
                                                  size_t columns)
{
    struct inlay_tile tile;
    begin_fast(&tile, part, columns);
    append_block(part, block, &tile);
    inlay_tile_run(&tile);
}

/* Computes the tokens of a part whose position rows, if any, are in memory, block by block. Not inlined, since
   functions with a generator in their frame call it. */
static __attribute__((noinline)) void embed_blocks(const struct inlay_part *part)
{
    const size_t dim = part->work->tokens->dim;
    struct block block = {.s = part->s, .is_one_row = rows_are_one(part->work)};
    struct inlay_tile tile;
    begin_fast(&tile, part, dim);
    for (; block.s < part->s_end; block.s += block.count) {
        block.count = inlay_min(part->s_end - block.s, part->plan->positions.block_tokens);
        if (block.is_one_row)
            embed_block(part, &block, dim * block.count);
        else
            append_block(part, &block, &tile);
    }
    inlay_tile_run(&tile);
}

static void embed_from_memory(const struct inlay_part *part)
{
    if (part->b_end - part->b == 1 && part->s_end - part->s == 1 && inlay_addresses_suffice(part->work))
        embed_token(part);
    else
        embed_blocks(part);
}

/* Returns the positions of a part, which has one start. */
static struct inlay_positions positions_from(const struct inlay_part *part, struct inlay_sequence sequence)
{
    const size_t start = inlay_start_of(part->work, part->b, sequence.count);
    return (struct inlay_positions){.first = (uint32_t)(start + part->s)};
}

/*
 * Computes the tokens of a part with computed positions, a few rows of a generator's pairs at a time, in a buffer that
 * stays in L1. Meanwhile the matching token rows of the first sequence are prefetched. Not inlined, since a generator
 * is in its frame.
 */
static __attribute__((noinline)) void embed_computed(const struct inlay_part *part)
{
    enum { BUFFER_BYTES = 16 * 1024, MAX_ROWS = 64 };
    const struct inlay_work *work = part->work;
    const inlay_sinusoid *sinusoid = work->spec->sinusoid;
    const struct inlay_sequence sequence = inlay_sequence_of(work, part->b);
    const size_t bytes = inlay_min(work->spec->tuning->block_bytes, BUFFER_BYTES);
    struct inlay_generator generator;
    _Alignas(INLAY_CACHE_LINE) unsigned char buffer[BUFFER_BYTES];
    const unsigned char *next[MAX_ROWS];
    /* A shard without rows has nothing to prefetch. */
    const bool prefetches = part->timer->prefetch != INLAY_PREFETCH_NONE && work->tokens->rows > 0;
    const struct inlay_fused_rows with = {.next = prefetches ? next : NULL};
    size_t first = 0;
    do { /* once if dim is 1, which has no pairs */
        const size_t pairs = inlay_min(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        const struct inlay_placement piece = inlay_sinusoid_in_piece(sinusoid, first, pairs);
        const size_t piece_bytes = piece.columns * sizeof(float);
        const size_t rows_at_once = inlay_min(piece_bytes < bytes ? bytes / piece_bytes : 1, MAX_ROWS);
        inlay_generator_start(&generator, part->plan->transfers.kernels, sinusoid, first, pairs, INLAY_F32,
                              positions_from(part, sequence), part->s_end - part->s);
        for (size_t s = part->s; s < part->s_end;) {
            const size_t rows = inlay_min(part->s_end - s, rows_at_once);
            if (prefetches) {
                const size_t known = s < sequence.count ? inlay_min(sequence.count - s, rows) : 0;
                inlay_row_addresses(work, sequence.first + s, known, next);
                for (size_t i = known; i < rows; i++)
                    next[i] = inlay_row_place(work->tokens, 0, 0).row;
            }
            inlay_generator_rows(&generator, &piece, rows, buffer, piece_bytes, &with);
            for (int i = 0; i < piece.runs; i++) {
                const struct block block = {
                    .s = s,
                    .count = rows,
                    .column = piece.run[i].first,
                    .positions = buffer + piece.run[i].at * sizeof(float),
                    .position_stride_bytes = piece_bytes,
                };
                embed_block(part, &block, piece.run[i].count);
            }
            s += rows;
        }
        first += INLAY_GENERATOR_PAIRS;
    } while (first < sinusoid->pairs);
}

/*
 * Computes the tokens of one sequence with computed positions. Each entry is added to its token as it is computed, so
 * computing overlaps with memory traffic. Wider pieces would have fewer, longer runs of columns, but their state
 * wouldn't fit in L1. The caller loads `sequence` once: destinations must not change between checking their addresses
 * and the stores.
 */
static __attribute__((noinline)) void embed_fused(const struct inlay_part *part, struct inlay_sequence sequence)
{
    enum { ROWS = 64 };
    const struct inlay_work *work = part->work;
    const inlay_sinusoid *sinusoid = work->spec->sinusoid;
    struct inlay_generator generator;
    const unsigned char *rows[ROWS + INLAY_MAX_AHEAD];
    struct inlay_fused_rows with = {.tokens = rows, .scale = work->spec->scale};
    for (size_t first = 0; first < sinusoid->pairs; first += INLAY_GENERATOR_PAIRS) {
        const size_t pairs = inlay_min(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        unsigned char *out = inlay_out_of(work, sequence, part->b, part->s);
        inlay_part_timer_hold(part->timer); /* don't time the anchors */
        inlay_generator_start(&generator, part->plan->transfers.kernels, sinusoid, first, pairs, INLAY_F32,
                              positions_from(part, sequence), part->s_end - part->s);
        inlay_part_timer_hold(part->timer);
        for (size_t s = part->s; s < part->s_end; s += ROWS) {
            const struct inlay_strategy *strategy = &inlay_strategies[part->timer->prefetch];
            const size_t left = part->s_end - s, n = inlay_min(left, ROWS), ahead = strategy->ahead;
            with.next = ahead > 0 ? rows + ahead : NULL;
            with.near = strategy->near;
            const size_t known = inlay_min(left, ROWS + ahead);
            inlay_row_addresses(work, sequence.first + s, known, rows);
            for (size_t i = known; i < n + ahead; i++)
                rows[i] = rows[i - 1];
            inlay_generator_add(&generator, n, out, work->out_stride_bytes, part->plan->transfers.stream, &with);
            inlay_part_timer_wrote(part->timer, n * pairs * 2 * sizeof(float));
            out += n * work->out_stride_bytes;
        }
    }
}

/* Returns the tokens of a part in [begin, end) of their sequences. */
static struct inlay_part part_within(const struct inlay_part *part, size_t begin, size_t end)
{
    struct inlay_part within = *part;
    within.s_end = inlay_min(within.s_end, end);
    within.s = inlay_min(within.s > begin ? within.s : begin, within.s_end);
    return within;
}

static void embed_computed_or_fused(const struct inlay_part *part, struct inlay_sequence sequence)
{
    if (!part->plan->positions.fused) {
        embed_computed(part);
        return;
    }
    /* Position 0 has no state to fuse with: its row is constant. */
    const size_t constant = inlay_start_of(part->work, part->b, sequence.count) + part->s == 0 ? 1 : 0;
    const struct inlay_part first = part_within(part, 0, constant), rest = part_within(part, constant, SIZE_MAX);
    if (first.s < first.s_end)
        embed_computed(&first);
    if (rest.s < rest.s_end)
        embed_fused(&rest, sequence);
}

/* Computes tokens that have one start: first those with cached position rows, then the rest. Not inlined, to keep small
   calls fast. */
static __attribute__((noinline)) void embed_from_start(const struct inlay_part *part, struct inlay_sequence sequence)
{
    const struct inlay_position_plan *plan = &part->plan->positions;
    const size_t count = sequence.count, cached = part->work->spec->positions->rows;
    const size_t start = inlay_start_of(part->work, part->b, count);
    const size_t wanted = count <= plan->compute_tokens ? count : count / 4 * plan->read_quarters;
    const size_t read = cached > start ? inlay_min(wanted, cached - start) : 0;
    const struct inlay_part before = part_within(part, 0, read), rest = part_within(part, read, SIZE_MAX);
    if (before.s < before.s_end) {
        inlay_part_timer_source(part->timer, false);
        embed_from_memory(&before);
    }
    if (rest.s < rest.s_end) {
        inlay_part_timer_source(part->timer, true);
        embed_computed_or_fused(&rest, sequence);
    }
}

/* Not inlined, even by link-time optimization: its arithmetic must stay within its caller's guarded environment. */
__attribute__((noinline)) void inlay_run_fast(const struct inlay_part *part)
{
    if (part->plan->positions.source != INLAY_POSITIONS_COMPUTED) {
        embed_from_memory(part);
        return;
    }
    if (!part->plan->positions.by_sequence) {
        embed_from_start(part, inlay_sequence_of(part->work, part->b));
        return;
    }
    for (size_t b = part->b; b < part->b_end; b++) {
        const struct inlay_sequence sequence = inlay_sequence_of(part->work, b);
        struct inlay_part one = part_within(part, 0, sequence.count);
        one.b = b;
        one.b_end = b + 1;
        if (one.s < one.s_end)
            embed_from_start(&one, sequence);
    }
}
