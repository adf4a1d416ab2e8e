/* SPDX-License-Identifier: MIT */
/*
 * Positions outside, batch inside: a block of position rows, borrowed or computed, stays in L1 while every sequence of
 * the batch consumes it. Knows ids and positions, no arithmetic: that is the kernels'.
 */
#include "layer/embed.h"

#include "dispatch/cpu.h"
#include "dispatch/dispatch.h"
#include "base/compare.h"
#include "base/fpenv.h"
#include "positions/generator.h"
#include "layer/resolve.h"
#include "base/executor.h"

#include <string.h>

/* Columns [column, column + columns) of tokens [s, s + count) of a part's sequences. */
struct block {
    size_t s, count;
    size_t column, columns;
    const unsigned char *positions; /* computed rows, already at that column; null: rows in memory, if there are any */
    size_t position_stride_bytes;
};

/* Tokens on their way to the kernel, which reads ahead among them. */
struct tokens {
    const unsigned char *rows[INLAY_TILE_TOKENS];
    const unsigned char *scales[INLAY_TILE_TOKENS];
    size_t zero_at[INLAY_TILE_TOKENS];
    const unsigned char *positions[INLAY_TILE_TOKENS];
    unsigned char *out[INLAY_TILE_TOKENS];
    size_t count;
};

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

/* As token_rows(). Inlined where the type is a constant, so that each is a loop of a few instructions for a token. */
static inline __attribute__((always_inline)) void rows_of_ids(const struct inlay_embed_work *work, inlay_id_type type,
                                                              size_t first, size_t n, const unsigned char **rows)
{
    const unsigned char *data = work->tokens->data;
    const size_t stride_bytes = work->tokens->stride_bytes, count = work->tokens->rows;
    const size_t first_row = work->tokens->first_row; /* of a shard */
    for (size_t i = 0; i < n; i++) {
        uint64_t id = inlay_load_once((uint64_t)inlay_id_at(work->ids, type, first + i)) - first_row;
        rows[i] = data + (id < count ? (size_t)id : 0) * stride_bytes;
    }
}

/* The rows of n tokens from `first` on: of floats and ids without rules, or for those who ask for them ahead; the
   table's first where there is none. */
static void token_rows(const struct inlay_embed_work *work, size_t first, size_t n, const unsigned char **rows)
{
    if (work->ids == NULL)
        for (size_t i = 0; i < n; i++)
            rows[i] = (const unsigned char *)work->tokens->data + (first + i) * work->tokens->stride_bytes;
    else if (work->id_type == INLAY_ID_I32)
        rows_of_ids(work, INLAY_ID_I32, first, n, rows);
    else if (work->id_type == INLAY_ID_I64)
        rows_of_ids(work, INLAY_ID_I64, first, n, rows);
    else
        rows_of_ids(work, work->id_type, first, n, rows);
}

/* Runs the kernel on so many columns of the tokens that have come together but for the last ones, which stay. */
static void embed_tokens(const struct inlay_part *part, struct tokens *tokens, size_t columns, size_t staying)
{
    const struct inlay_embed_work *work = part->work;
    const struct inlay_embed_tile tile = {
        .rows = tokens->rows,
        .scales = tokens->scales,
        .zeros = work->tokens->zeros,
        .zero_at = tokens->zero_at,
        .group = work->tokens->group,
        .positions = work->positions != NULL ? tokens->positions : NULL,
        .out = tokens->out,
        .count = tokens->count - staying,
        .lookahead = staying,
        .columns = columns,
        .scale = work->scale,
        .stream = part->stream,
        .prefetch_whole_rows = part->far,
        .narrow_moves = part->narrow,
        .prefetch_rows = work->tuning.prefetch_rows,
    };
    if (tile.count > 0)
        part->kernels->embed[work->tokens->type](&tile);
    const size_t bytes = staying * sizeof(unsigned char *);
    memcpy(tokens->rows, tokens->rows + tile.count, bytes);
    memcpy(tokens->positions, tokens->positions + tile.count, bytes);
    memcpy(tokens->out, tokens->out + tile.count, bytes);
    if (work->tokens->type != INLAY_F32) {
        memcpy(tokens->scales, tokens->scales + tile.count, bytes);
        memcpy(tokens->zero_at, tokens->zero_at + tile.count, staying * sizeof *tokens->zero_at);
    }
    tokens->count = staying;
}

/* Some tokens whose ids and rows of the output follow each other. */
struct run {
    size_t first, count;           /* of the ids */
    unsigned char *out;            /* at the block's column */
    const unsigned char *position; /* likewise, the row of the first token; null: no such term */
    size_t position_stride_bytes;
    const int64_t *starts; /* [count] or null: how many rows behind that each token's lies */
};

/* Starts may have changed since they were found to be held: kept within the rows like ids. */
static inline const unsigned char *position_of(const struct inlay_embed_work *work, const struct run *run, size_t i)
{
    if (run->position == NULL)
        return NULL;
    if (run->starts != NULL) {
        uint64_t row = inlay_load_once((uint64_t)inlay_id_at(run->starts, INLAY_ID_I64, i));
        i = row < work->positions->rows ? (size_t)row : 0;
    }
    return run->position + i * run->position_stride_bytes;
}

/* Brings floats together whose ids have no rules. */
static void append_plain(const struct inlay_part *part, const struct block *block, const struct run *run,
                         struct tokens *tokens)
{
    const struct inlay_embed_work *work = part->work;
    const size_t column_bytes = block->column * sizeof(float), out_stride_bytes = work->out_stride_bytes;
    unsigned char *out = run->out;
    for (size_t done = 0; done < run->count;) {
        size_t at = tokens->count, n = at_most(run->count - done, INLAY_TILE_TOKENS - at);
        token_rows(work, run->first + done, n, tokens->rows + at);
        for (size_t i = 0; i < n; i++) {
            tokens->rows[at + i] += column_bytes;
            tokens->out[at + i] = out;
            out += out_stride_bytes;
        }
        if (run->position != NULL)
            for (size_t i = 0; i < n; i++)
                tokens->positions[at + i] = position_of(work, run, done + i);
        done += n;
        tokens->count += n;
        if (tokens->count == INLAY_TILE_TOKENS)
            embed_tokens(part, tokens, block->columns, work->tuning.prefetch_rows);
    }
}

/* The same of rows of other types, or ids with rules. */
static void append_resolved(const struct inlay_part *part, const struct block *block, const struct run *run,
                            struct tokens *tokens)
{
    const struct inlay_embed_work *work = part->work;
    for (size_t i = 0; i < run->count; i++) {
        const unsigned char *position = position_of(work, run, i);
        unsigned char *out = run->out + i * work->out_stride_bytes;
        size_t row;
        enum inlay_kind kind = inlay_row_of(work, run->first + i, &row);
        if (kind != INLAY_ROW) {
            inlay_put_no_row(part->kernels, kind, work->scale, position, out, block->columns);
            continue;
        }
        struct inlay_stored stored = inlay_stored_at(work->tokens, row, block->column);
        tokens->rows[tokens->count] = stored.row;
        tokens->scales[tokens->count] = stored.scales;
        tokens->zero_at[tokens->count] = stored.zero_at;
        tokens->positions[tokens->count] = position;
        tokens->out[tokens->count] = out;
        if (++tokens->count == INLAY_TILE_TOKENS)
            embed_tokens(part, tokens, block->columns, work->tuning.prefetch_rows);
    }
}

/* Brings the tokens of a block together; some may be left for the next block, or embed_tokens(). */
static void embed_block(const struct inlay_part *part, const struct block *block, struct tokens *tokens)
{
    const struct inlay_embed_work *work = part->work;
    bool plain = work->tokens->type == INLAY_F32 && !work->ruled;
    bool held = block->positions == NULL && work->positions != NULL;
    size_t column_bytes = block->column * sizeof(float);
    /* Sequences of one token each are as good as one run. */
    bool single = work->length == 1 && work->offsets == NULL;
    size_t together = single ? part->b_end - part->b : 1;
    for (size_t b = part->b; b < part->b_end; b += together) {
        struct inlay_sequence sequence = inlay_sequence_of(work, b);
        if (sequence.count <= block->s)
            continue;
        size_t count = at_most(block->count, sequence.count - block->s);
        struct run run = {
            .first = sequence.first + block->s,
            .out = inlay_out_of(work, sequence, b, block->s) + column_bytes,
            .position = block->positions,
            .position_stride_bytes = block->position_stride_bytes,
        };
        if (held) {
            size_t rows = work->positions->rows;
            count = at_most(count, rows); /* and offsets may have changed */
            run.position = (const unsigned char *)work->positions->data + column_bytes;
            run.position_stride_bytes = work->positions->stride_bytes;
            if (single && work->starts != NULL) {
                run.starts = work->starts + b;
            } else {
                size_t row = inlay_start_of(work, b, sequence.count) + block->s;
                run.position += (row <= rows - count ? row : 0) * run.position_stride_bytes;
            }
        }
        if (single && run.starts == NULL)
            run.position_stride_bytes = 0;
        run.count = single ? together : count;
        if (plain)
            append_plain(part, block, &run, tokens);
        else
            append_resolved(part, block, &run, tokens);
    }
}

/* A block on its own, whose position rows will not stay. Not inlined: its tokens need not lie beside a generator that
   is at work. */
static __attribute__((noinline)) void embed_one_block(const struct inlay_part *part, const struct block *block)
{
    struct tokens tokens;
    tokens.count = 0;
    embed_block(part, block, &tokens);
    embed_tokens(part, &tokens, block->columns, 0);
}

/* The tokens of a part whose position rows lie in memory. Not inlined, as embed_one_block is not. */
static __attribute__((noinline)) void embed_held(const struct inlay_part *part)
{
    /* One sequence alone consumes each position row once: no block of them need stay. */
    size_t rows = part->s_end - part->s;
    if (part->b_end - part->b > 1)
        rows = part->work->tuning.block_bytes / sizeof(float) / part->work->dim;
    rows = rows > 0 ? rows : 1;
    struct block block = {.s = part->s, .columns = part->work->dim};
    struct tokens tokens;
    tokens.count = 0;
    for (; block.s < part->s_end; block.s += block.count) {
        block.count = at_most(part->s_end - block.s, rows);
        embed_block(part, &block, &tokens);
    }
    embed_tokens(part, &tokens, block.columns, 0);
}

/*
 * The same where the rows are computed, from one start: a few rows of a generator's pairs at a time, in a buffer that
 * stays in L1. Meanwhile the token rows that will be added to them, of the first sequence, are on their way. Not
 * inlined, as the next function is not: each has a generator in its frame.
 */
static __attribute__((noinline)) void embed_computed(const struct inlay_part *part)
{
    enum { BUFFER_BYTES = 16 * 1024, MOST_ROWS = 64 };
    const struct inlay_embed_work *work = part->work;
    const inlay_sinusoid *sinusoid = work->sinusoid;
    const struct inlay_sequence sequence = inlay_sequence_of(work, part->b);
    const struct inlay_positions positions = {.first =
                                                  (uint32_t)(inlay_start_of(work, part->b, sequence.count) + part->s)};
    size_t bytes = at_most(work->tuning.block_bytes, BUFFER_BYTES);
    struct inlay_generator generator;
    _Alignas(64) unsigned char buffer[BUFFER_BYTES];
    const unsigned char *next[MOST_ROWS];
    /* A shard without rows has none to ask for. */
    const bool asks = work->tuning.prefetch_rows > 0 && work->tokens->rows > 0;
    const struct inlay_companions with = {.next = asks ? next : NULL};
    size_t first = 0;
    do { /* once where there is not one pair */
        size_t pairs = at_most(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        struct inlay_placement piece = inlay_sinusoid_in_piece(sinusoid, first, pairs);
        size_t piece_bytes = piece.columns * sizeof(float);
        size_t rows_at_once = at_most(piece_bytes < bytes ? bytes / piece_bytes : 1, MOST_ROWS);
        inlay_generator_start(&generator, part->kernels, sinusoid, first, pairs, INLAY_F32, positions);
        for (size_t s = part->s; s < part->s_end;) {
            size_t rows = at_most(part->s_end - s, rows_at_once);
            if (asks) {
                size_t known = s < sequence.count ? at_most(sequence.count - s, rows) : 0;
                token_rows(work, sequence.first + s, known, next);
                for (size_t i = known; i < rows; i++)
                    next[i] = work->tokens->data;
            }
            inlay_generator_rows(&generator, &piece, rows, buffer, piece_bytes, &with);
            for (int run = 0; run < piece.runs; run++) {
                struct block block = {
                    .s = s,
                    .count = rows,
                    .column = piece.run[run].first,
                    .columns = piece.run[run].count,
                    .positions = buffer + piece.run[run].at * sizeof(float),
                    .position_stride_bytes = piece_bytes,
                };
                embed_one_block(part, &block);
            }
            s += rows;
        }
        first += INLAY_GENERATOR_PAIRS;
    } while (first < sinusoid->pairs);
}

/*
 * The same for one sequence, where nobody shares position rows: each entry is added to its token as it is made, so that
 * computing it and moving what lies around it overlap. Wider pieces would move fewer, longer runs of columns, but their
 * state would leave L1.
 */
static __attribute__((noinline)) void embed_added(const struct inlay_part *part, struct inlay_sequence sequence)
{
    enum { ROWS = 64, AHEAD = 2 };
    const struct inlay_embed_work *work = part->work;
    const inlay_sinusoid *sinusoid = work->sinusoid;
    const struct inlay_positions positions = {.first =
                                                  (uint32_t)(inlay_start_of(work, part->b, sequence.count) + part->s)};
    struct inlay_generator generator;
    const unsigned char *rows[ROWS + AHEAD];
    const struct inlay_companions with = {
        .tokens = rows, .scale = work->scale, .next = work->tuning.prefetch_rows > 0 ? rows + AHEAD : NULL};
    for (size_t first = 0; first < sinusoid->pairs; first += INLAY_GENERATOR_PAIRS) {
        size_t pairs = at_most(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        unsigned char *out = inlay_out_of(work, sequence, part->b, part->s);
        inlay_generator_start(&generator, part->kernels, sinusoid, first, pairs, INLAY_F32, positions);
        for (size_t s = part->s; s < part->s_end; s += ROWS) {
            size_t left = part->s_end - s, n = at_most(left, ROWS), known = at_most(left, ROWS + AHEAD);
            token_rows(work, sequence.first + s, known, rows);
            for (size_t i = known; i < n + AHEAD; i++)
                rows[i] = rows[i - 1];
            inlay_generator_add(&generator, n, out, work->out_stride_bytes, part->stream, &with);
            out += n * work->out_stride_bytes;
        }
    }
}

/* Whether positions can be added to tokens as they are computed: of one sequence, to floats. */
static bool adds(const struct inlay_part *part, struct inlay_sequence sequence)
{
    const struct inlay_embed_work *work = part->work;
    return part->b_end - part->b == 1 && work->tokens->type == INLAY_F32 && !work->ruled &&
           inlay_sinusoid_adds(work->sinusoid, inlay_out_of(work, sequence, part->b, part->s), work->out_stride_bytes,
                               part->stream);
}

/* Whether one sequence alone had better compute its positions than read them: more than so many rows, which
   nobody shares, take longer to come than entries take to be made. */
static bool computes_alone(const struct inlay_part *part)
{
    const struct inlay_embed_work *work = part->work;
    if (work->sinusoid == NULL || part->b_end - part->b > 1 || part->kernels->lanes == 0)
        return false;
    /* All of the sequence, of which the part may have a piece: threads share the cache that would hold the rows. */
    const struct inlay_sequence sequence = inlay_sequence_of(work, part->b);
    return sequence.count * work->dim * sizeof(float) > work->tuning.compute_bytes && adds(part, sequence);
}

/* Computes the positions of tokens that have a start in common. */
static void embed_unheld(const struct inlay_part *part)
{
    struct inlay_part first = *part, rest = *part;
    /* Read once: where rows go may not change between the look at their addresses and the stores. */
    const struct inlay_sequence sequence = inlay_sequence_of(part->work, part->b);
    if (!adds(part, sequence)) {
        embed_computed(part);
        return;
    }
    rest.s_end = first.s_end = at_most(part->s_end, sequence.count);
    rest.s = first.s = at_most(part->s, rest.s_end);
    /* Position 0 has no state that could be added from. */
    if (inlay_start_of(part->work, part->b, sequence.count) + part->s == 0)
        rest.s = first.s_end = at_most(first.s + 1, first.s_end);
    else
        first.s_end = first.s;
    if (first.s < first.s_end)
        embed_computed(&first);
    if (rest.s < rest.s_end)
        embed_added(&rest, sequence);
}

/* Tokens of a part that have a start in common: those within the rows in memory first. Apart from what small calls pass
   through, which lengthens by all that is inlined. */
static __attribute__((noinline)) void embed_from_start(const struct inlay_part *part)
{
    size_t start = inlay_start_of(part->work, part->b, inlay_sequence_of(part->work, part->b).count);
    size_t count = part->work->positions->rows;
    size_t held = count > start && !computes_alone(part) ? count - start : 0;
    struct inlay_part before = *part, behind = *part;
    before.s_end = at_most(part->s_end, held);
    behind.s = at_most(part->s > held ? part->s : held, part->s_end);
    if (before.s < before.s_end)
        embed_held(&before);
    if (behind.s < behind.s_end)
        embed_unheld(&behind);
}

/* The part of one sequence, no longer than that is. */
static struct inlay_part one_of(const struct inlay_part *part, size_t b)
{
    struct inlay_part one = *part;
    one.b = b;
    one.b_end = b + 1;
    one.s_end = at_most(one.s_end, inlay_sequence_of(part->work, b).count);
    one.s = at_most(one.s, one.s_end);
    return one;
}

/* Whether all positions of a part lie in memory, or it has none. */
static bool all_held(const struct inlay_part *part)
{
    const struct inlay_embed_work *work = part->work;
    if (work->sinusoid == NULL)
        return true;
    if (work->starts == NULL)
        return (size_t)work->start + part->s_end <= work->positions->rows;
    if (work->offsets == NULL)
        return inlay_starts_in(work, part->b, part->b_end, part->s_end, work->positions->rows);
    for (size_t b = part->b; b < part->b_end; b++)
        if (inlay_start_of(work, b, inlay_sequence_of(work, b).count) + one_of(part, b).s_end > work->positions->rows)
            return false;
    return true;
}

static void embed_plain(const struct inlay_part *part)
{
    if (all_held(part) && !computes_alone(part)) {
        embed_held(part);
    } else if (part->work->tokens->type != INLAY_F32) {
        inlay_stages_run(part);
    } else if (part->work->starts == NULL && (part->work->offsets == NULL || part->b_end - part->b > 1)) {
        embed_from_start(part);
    } else {
        for (size_t b = part->b; b < part->b_end; b++) {
            struct inlay_part one = one_of(part, b);
            if (one.s < one.s_end)
                embed_from_start(&one);
        }
    }
}

/* What lies behind the end of sequences that are padded. */
static void pad(const struct inlay_part *part)
{
    const struct inlay_embed_work *work = part->work;
    size_t row_bytes = work->dim * inlay_type_bytes(work->out_type);
    for (size_t b = part->b; b < part->b_end; b++) {
        struct inlay_sequence sequence = inlay_sequence_of(work, b);
        for (size_t s = part->s > sequence.count ? part->s : sequence.count; s < part->s_end; s++)
            memset(inlay_out_of(work, sequence, b, s), 0, row_bytes);
    }
}

/* Whether every token goes its own way: through stages behind the sum, or to a position that is not the next one. */
static bool staged(const struct inlay_embed_work *work)
{
    return work->listed != NULL || work->numbered || work->clamped || work->apart || work->segments != NULL ||
           work->norm != INLAY_NORM_NONE || work->pooling != INLAY_POOLING_NONE ||
           !inlay_float_in(work->dropout, 0, 0) || work->out_type != INLAY_F32 ||
           (work->positions != NULL && work->positions->type != INLAY_F32);
}

static void run_part(const struct inlay_part *part)
{
    struct inlay_fpenv host = inlay_fpenv_enter();
    struct inlay_part tokens = *part;
    if (part->work->offsets != NULL) {
        tokens.s_end = at_most(part->s_end, part->work->longest);
        tokens.s = at_most(part->s, tokens.s_end);
        if (part->work->out_length > 0 && part->work->pooling == INLAY_POOLING_NONE)
            pad(part);
    }
    if (part->staged)
        inlay_stages_run(&tokens);
    else if (tokens.s < tokens.s_end)
        embed_plain(&tokens);
    if (part->stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

/* Work cut into a grid of parts: along positions first, since parts side by side in the batch each fetch or compute the
   same position rows. */
struct grid {
    struct inlay_part whole;
    size_t across_positions, across_batch;
};

static void cut(struct grid *grid, size_t parts)
{
    const struct inlay_embed_work *work = grid->whole.work;
    size_t rows = work->sinusoid != NULL ? INLAY_PART_POSITIONS : 1;
    grid->across_positions = at_most(parts, (grid->whole.s_end + rows - 1) / rows);
    if (work->pooling != INLAY_POOLING_NONE || work->numbered)
        grid->across_positions = 1; /* a sequence is one row, or has to be counted from its begin */
    grid->across_batch = at_most(parts / grid->across_positions, work->sequences);
}

/* Where share i of n begins. */
static size_t share(size_t total, size_t n, size_t i)
{
    size_t each = total / n, rest = total % n;
    return i * each + at_most(i, rest);
}

static void run_part_of_grid(void *arg, size_t index)
{
    const struct grid *grid = arg;
    size_t i = index / grid->across_batch, j = index % grid->across_batch;
    const struct inlay_embed_work *work = grid->whole.work;
    struct inlay_part part = grid->whole;
    part.s = share(grid->whole.s_end, grid->across_positions, i);
    part.s_end = share(grid->whole.s_end, grid->across_positions, i + 1);
    part.b = share(work->sequences, grid->across_batch, j);
    part.b_end = share(work->sequences, grid->across_batch, j + 1);
    run_part(&part);
}

void inlay_embed_run(const struct inlay_embed_work *work, const inlay_executor *executor)
{
    size_t rows = work->sequences * work->length, row_bytes = work->dim * inlay_type_bytes(work->out_type);
    size_t longest = work->length;
    if (work->offsets != NULL) {
        rows = work->out_length > 0 ? work->sequences * work->out_length : work->length;
        longest = work->out_length > 0 ? work->out_length : work->longest;
    }
    /* Pooled rows are few, and what they are made of many: the product may be more than there is memory. */
    size_t written = work->pooling != INLAY_POOLING_NONE ? work->sequences : rows, bytes;
    if (__builtin_mul_overflow(rows, row_bytes, &bytes))
        bytes = SIZE_MAX;
    struct grid grid = {
        .whole = {
            .work = work,
            .kernels = inlay_dispatch(),
            .stream = inlay_streams(work->tuning.stores, work->tuning.stream_bytes, written * row_bytes),
            .far = bytes > work->tuning.l2_bytes,
            .narrow = inlay_cpu()->narrow_moves,
            .staged = staged(work),
            .b_end = work->sequences,
            .s_end = longest,
        }};
    size_t parts = inlay_parts(executor, bytes);
    if (parts == 1) { /* small calls pay for no division */
        run_part(&grid.whole);
        return;
    }
    cut(&grid, parts);
    inlay_run_parts(executor, grid.across_positions * grid.across_batch, run_part_of_grid, &grid);
}
