/* SPDX-License-Identifier: MIT */
/*
 * Positions outside, batch inside: a block of position rows, borrowed or computed, stays in L1 while every sequence of
 * the batch consumes it. Knows ids and positions, no arithmetic: that is the kernels'.
 */
#include "embed.h"

#include "dispatch.h"
#include "fpenv.h"
#include "generator.h"
#include "tasks.h"
#include "validate.h"

/* Tokens [s, s_end) of sequences [b, b_end): what one thread does. */
struct part {
    const struct inlay_embed_work *work;
    const struct inlay_kernels *kernels;
    bool stream;
    size_t b, b_end, s, s_end;
};

/* Columns [column, column + columns) of tokens [s, s + count) of a part's sequences. */
struct block {
    size_t s, count;
    size_t column, columns;
    const unsigned char *positions; /* computed rows, already at that column; null: rows in memory, if there are any */
    size_t position_stride_bytes;
};

struct pointers {
    const unsigned char *rows[INLAY_TILE_TOKENS];
    const unsigned char *positions[INLAY_TILE_TOKENS];
    unsigned char *out[INLAY_TILE_TOKENS];
};

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

static const unsigned char *token_row(const struct inlay_embed_work *work, size_t token)
{
    size_t row = token;
    if (work->ids != NULL) {
        /* Read again after validation: where another thread changed it since, it is kept inside the table. */
        uint64_t id = (uint64_t)inlay_id_at(work->ids, work->id_type, token);
        /* From here on in a register: else a compiler may read the id once to compare and once more to use. */
        __asm__ volatile("" : "+r"(id));
        row = id < work->tokens->rows ? (size_t)id : 0;
    }
    return (const unsigned char *)work->tokens->data + row * work->tokens->stride_bytes;
}

/* The position of a sequence's first token; kept within the limit in the same way. */
static size_t start_of(const struct inlay_embed_work *work, size_t b)
{
    if (work->starts == NULL)
        return (size_t)work->start;
    uint64_t start = (uint64_t)inlay_id_at(work->starts, INLAY_ID_I64, b);
    __asm__ volatile("" : "+r"(start));
    uint64_t limit = work->sinusoid != NULL ? (uint64_t)INLAY_POSITION_LIMIT : work->positions->rows;
    return start <= limit - work->length ? (size_t)start : 0;
}

static void embed_block(const struct part *part, const struct block *block)
{
    const struct inlay_embed_work *work = part->work;
    struct pointers pointers;
    size_t column_bytes = block->column * sizeof(float);
    bool computed = block->positions != NULL, held = !computed && work->positions != NULL;
    struct inlay_embed_tile tile = {
        .rows = pointers.rows,
        .positions = computed || held ? pointers.positions : NULL,
        .out = pointers.out,
        .columns = block->columns,
        .scale = work->scale,
        .stream = part->stream,
        .prefetch_rows = work->tuning.prefetch_rows,
    };
    for (size_t b = part->b; b < part->b_end; b++) {
        const unsigned char *position = block->positions;
        size_t position_stride_bytes = block->position_stride_bytes;
        if (held) {
            position_stride_bytes = work->positions->stride_bytes;
            /* Starts may have changed since they were found to be held: kept within the rows like ids. */
            size_t row = start_of(work, b) + block->s, last = work->positions->rows - block->count;
            position = (const unsigned char *)work->positions->data + (row <= last ? row : 0) * position_stride_bytes;
            position += column_bytes;
        }
        for (size_t i = 0; i < block->count; i++) {
            size_t token = b * work->length + block->s + i;
            pointers.rows[tile.count] = token_row(work, token) + column_bytes;
            if (tile.positions != NULL)
                pointers.positions[tile.count] = position + i * position_stride_bytes;
            pointers.out[tile.count] = work->out + token * work->out_stride_bytes + column_bytes;
            if (++tile.count == INLAY_TILE_TOKENS) {
                part->kernels->embed[INLAY_F32](&tile);
                tile.count = 0;
            }
        }
    }
    if (tile.count > 0)
        part->kernels->embed[INLAY_F32](&tile);
}

/* The tokens of a part whose position rows lie in memory. */
static void embed_held(const struct part *part)
{
    /* One sequence alone consumes each position row once: no block of them need stay. */
    size_t rows = part->s_end - part->s;
    if (part->b_end - part->b > 1)
        rows = part->work->tuning.block_bytes / sizeof(float) / part->work->dim;
    rows = rows > 0 ? rows : 1;
    struct block block = {.s = part->s, .columns = part->work->dim};
    for (; block.s < part->s_end; block.s += block.count) {
        block.count = at_most(part->s_end - block.s, rows);
        embed_block(part, &block);
    }
}

/*
 * The same where the rows are computed, from one start: a few rows of a generator's pairs at a time, in a buffer that
 * stays in L1. Meanwhile the token rows that will be added to them, of the first sequence, are on their way. Not
 * inlined, as the next function is not: each has a generator in its frame.
 */
static __attribute__((noinline)) void embed_computed(const struct part *part)
{
    enum { BUFFER_BYTES = 16 * 1024, MOST_ROWS = 64 };
    const struct inlay_embed_work *work = part->work;
    const inlay_sinusoid *sinusoid = work->sinusoid;
    const struct inlay_positions positions = {.first = (uint32_t)(start_of(work, part->b) + part->s)};
    size_t bytes = at_most(work->tuning.block_bytes, BUFFER_BYTES);
    struct inlay_generator generator;
    _Alignas(64) unsigned char buffer[BUFFER_BYTES];
    const unsigned char *next[MOST_ROWS];
    const struct inlay_companions with = {.next = work->tuning.prefetch_rows > 0 ? next : NULL};
    size_t first = 0;
    do { /* once where there is not one pair */
        size_t pairs = at_most(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        struct inlay_placement piece = inlay_sinusoid_in_piece(sinusoid, first, pairs);
        size_t piece_bytes = piece.columns * sizeof(float);
        size_t rows_at_once = at_most(piece_bytes < bytes ? bytes / piece_bytes : 1, MOST_ROWS);
        inlay_generator_start(&generator, part->kernels, sinusoid, first, pairs, INLAY_F32, positions);
        for (size_t s = part->s; s < part->s_end;) {
            size_t rows = at_most(part->s_end - s, rows_at_once);
            for (size_t i = 0; i < rows; i++)
                next[i] = token_row(work, part->b * work->length + s + i);
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
                embed_block(part, &block);
            }
            s += rows;
        }
        first += INLAY_GENERATOR_PAIRS;
    } while (first < sinusoid->pairs);
}

/* Where a part's first row goes. */
static unsigned char *first_out(const struct part *part)
{
    const struct inlay_embed_work *work = part->work;
    return work->out + (part->b * work->length + part->s) * work->out_stride_bytes;
}

/*
 * The same for one sequence, where nobody shares position rows: each entry is added to its token as it is made, so that
 * computing it and moving what lies around it overlap. Wider pieces would move fewer, longer runs of columns, but their
 * state would leave L1.
 */
static __attribute__((noinline)) void embed_added(const struct part *part)
{
    enum { ROWS = 64, AHEAD = 2 };
    const struct inlay_embed_work *work = part->work;
    const inlay_sinusoid *sinusoid = work->sinusoid;
    const struct inlay_positions positions = {.first = (uint32_t)(start_of(work, part->b) + part->s)};
    struct inlay_generator generator;
    const unsigned char *rows[ROWS + AHEAD];
    const struct inlay_companions with = {
        .tokens = rows, .scale = work->scale, .next = work->tuning.prefetch_rows > 0 ? rows + AHEAD : NULL};
    for (size_t first = 0; first < sinusoid->pairs; first += INLAY_GENERATOR_PAIRS) {
        size_t pairs = at_most(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        unsigned char *out = first_out(part);
        inlay_generator_start(&generator, part->kernels, sinusoid, first, pairs, INLAY_F32, positions);
        for (size_t s = part->s; s < part->s_end; s += ROWS) {
            size_t left = part->s_end - s, n = at_most(left, ROWS);
            for (size_t i = 0; i < ROWS + AHEAD; i++)
                rows[i] = i < left ? token_row(work, part->b * work->length + s + i) : rows[i - 1];
            inlay_generator_add(&generator, n, out, work->out_stride_bytes, part->stream, &with);
            out += n * work->out_stride_bytes;
        }
    }
}

/* Whether one sequence alone had better compute its positions than read them: rows that nobody shares and that lie
   outside L2 take longer to come than entries take to be made. */
static bool computes_alone(const struct part *part)
{
    const struct inlay_embed_work *work = part->work;
    return work->sinusoid != NULL && part->b_end - part->b == 1 && part->kernels->turns &&
           (part->s_end - part->s) * work->dim * sizeof(float) > work->tuning.compute_bytes &&
           inlay_sinusoid_adds(work->sinusoid, first_out(part), work->out_stride_bytes, part->stream);
}

/* Computes the positions of tokens that have a start in common. */
static void embed_unheld(const struct part *part)
{
    struct part first = *part, rest = *part;
    bool adds = part->b_end - part->b == 1 &&
                inlay_sinusoid_adds(part->work->sinusoid, first_out(part), part->work->out_stride_bytes, part->stream);
    if (!adds) {
        embed_computed(part);
        return;
    }
    /* Position 0 has no state that could be added from. */
    if (start_of(part->work, part->b) + part->s == 0)
        rest.s = first.s_end = part->s + 1;
    else
        first.s_end = first.s;
    if (first.s < first.s_end)
        embed_computed(&first);
    if (rest.s < rest.s_end)
        embed_added(&rest);
}

/* Tokens of a part that have a start in common: those within the rows in memory first. Apart from what small calls pass
   through, which lengthens by all that is inlined. */
static __attribute__((noinline)) void embed_from_start(const struct part *part)
{
    size_t start = start_of(part->work, part->b), count = part->work->positions->rows;
    size_t held = count > start && !computes_alone(part) ? count - start : 0;
    struct part before = *part, behind = *part;
    before.s_end = at_most(part->s_end, held);
    behind.s = at_most(part->s > held ? part->s : held, part->s_end);
    if (before.s < before.s_end)
        embed_held(&before);
    if (behind.s < behind.s_end)
        embed_unheld(&behind);
}

/* Whether all positions of a part lie in memory, or it has none. */
static bool all_held(const struct part *part)
{
    const struct inlay_embed_work *work = part->work;
    if (work->sinusoid == NULL)
        return true;
    size_t last = work->starts == NULL ? part->b + 1 : part->b_end;
    for (size_t b = part->b; b < last; b++)
        if (start_of(work, b) + part->s_end > work->positions->rows)
            return false;
    return true;
}

static void embed_part(const struct part *part)
{
    if (all_held(part) && !computes_alone(part)) {
        embed_held(part);
    } else if (part->work->starts == NULL) {
        embed_from_start(part);
    } else {
        struct part one = *part;
        for (; one.b < part->b_end; one.b++) {
            one.b_end = one.b + 1;
            embed_from_start(&one);
        }
    }
}

static void run_part(const struct part *part)
{
    struct inlay_fpenv host = inlay_fpenv_enter();
    embed_part(part);
    if (part->stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

/* Work cut into a grid of parts: along positions first, since parts side by side in the batch each fetch or compute the
   same position rows. */
struct grid {
    struct part whole;
    size_t across_positions, across_batch;
};

static void cut(struct grid *grid, size_t parts)
{
    const struct inlay_embed_work *work = grid->whole.work;
    size_t rows = work->sinusoid != NULL ? INLAY_PART_POSITIONS : 1;
    grid->across_positions = at_most(parts, (work->length + rows - 1) / rows);
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
    struct part part = grid->whole;
    part.s = share(work->length, grid->across_positions, i);
    part.s_end = share(work->length, grid->across_positions, i + 1);
    part.b = share(work->sequences, grid->across_batch, j);
    part.b_end = share(work->sequences, grid->across_batch, j + 1);
    run_part(&part);
}

void inlay_embed_run(const struct inlay_embed_work *work, const inlay_executor *executor)
{
    size_t rows = work->sequences * work->length, row_bytes = work->dim * sizeof(float);
    struct grid grid = {.whole = {
                            .work = work,
                            .kernels = inlay_dispatch(),
                            .stream = inlay_streams(&work->tuning, rows, row_bytes),
                            .b_end = work->sequences,
                            .s_end = work->length,
                        }};
    size_t parts = inlay_parts(executor, rows * row_bytes);
    if (parts == 1) { /* small calls pay for no division */
        run_part(&grid.whole);
        return;
    }
    cut(&grid, parts);
    inlay_run_parts(executor, grid.across_positions * grid.across_batch, run_part_of_grid, &grid);
}
