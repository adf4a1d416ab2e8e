/* SPDX-License-Identifier: MIT */
/*
 * Positions outside, batch inside: a block of position rows, borrowed or computed, stays in L1 while every sequence of
 * the batch consumes it. Knows ids and positions, no arithmetic: that is the kernels'.
 */
#include "embed.h"

#include "dispatch.h"
#include "fpenv.h"
#include "generator.h"
#include "validate.h"

struct pointers {
    const unsigned char *rows[INLAY_TILE_TOKENS];
    const unsigned char *positions[INLAY_TILE_TOKENS];
    unsigned char *out[INLAY_TILE_TOKENS];
};

/* Columns [column, column + columns) of the tokens at [s, s + count) of every sequence. Their position rows lie at
   `positions`, already at that column; null: none. */
struct block {
    size_t s, count;
    size_t column, columns;
    const unsigned char *positions;
    size_t position_stride_bytes;
};

static const unsigned char *token_row(const struct inlay_embed_work *work, size_t token)
{
    size_t row = token;
    if (work->ids != NULL) {
        /* Read again after validation: where another thread changed it since, it is kept inside the table. */
        uint64_t id = (uint64_t)inlay_id_at(work->ids, work->id_type, token);
        /* From here on in a register: else a compiler may read the id once to compare and once more to use. */
        __asm__ volatile("" : "+r"(id));
        row = id < work->row_count ? (size_t)id : 0;
    }
    return work->rows + row * work->row_stride_bytes;
}

static void embed_block(const struct inlay_embed_work *work, const struct inlay_kernels *kernels, bool stream,
                        const struct block *block)
{
    struct pointers pointers;
    size_t column_bytes = block->column * sizeof(float);
    struct inlay_embed_tile tile = {
        .rows = pointers.rows,
        .positions = block->positions != NULL ? pointers.positions : NULL,
        .out = pointers.out,
        .columns = block->columns,
        .scale = work->scale,
        .stream = stream,
    };
    for (size_t b = 0; b < work->sequences; b++)
        for (size_t i = 0; i < block->count; i++) {
            size_t token = b * work->length + block->s + i;
            pointers.rows[tile.count] = token_row(work, token) + column_bytes;
            if (block->positions != NULL)
                pointers.positions[tile.count] = block->positions + i * block->position_stride_bytes;
            pointers.out[tile.count] = work->out + token * work->out_stride_bytes + column_bytes;
            if (++tile.count == INLAY_TILE_TOKENS) {
                kernels->embed_f32(&tile);
                tile.count = 0;
            }
        }
    if (tile.count > 0)
        kernels->embed_f32(&tile);
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

/* Tokens [s, end) of every sequence, whose position rows lie in memory. */
static void embed_held(const struct inlay_embed_work *work, const struct inlay_kernels *kernels, bool stream, size_t s,
                       size_t end)
{
    size_t rows = INLAY_BLOCK_BYTES / sizeof(float) / work->dim;
    rows = rows > 0 ? rows : 1;
    while (s < end) {
        size_t position = (size_t)work->start + s;
        struct block block = {
            .s = s,
            .count = at_most(end - s, rows),
            .columns = work->dim,
            .positions = work->positions + position * work->position_stride_bytes,
            .position_stride_bytes = work->position_stride_bytes,
        };
        embed_block(work, kernels, stream, &block);
        s += block.count;
    }
}

/* The same where the rows are computed: a few rows of a generator's pairs at a time, in a buffer that stays in L1. */
static void embed_computed(const struct inlay_embed_work *work, const struct inlay_kernels *kernels, bool stream,
                           size_t begin, size_t end)
{
    const inlay_sinusoid *sinusoid = work->sinusoid;
    const struct inlay_positions positions = {.first = (uint32_t)(work->start + (int64_t)begin)};
    struct inlay_generator generator;
    _Alignas(64) unsigned char buffer[INLAY_BLOCK_BYTES];
    size_t first = 0;
    do { /* once where there is not one pair */
        size_t pairs = at_most(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        struct inlay_placement piece = inlay_sinusoid_in_piece(sinusoid, first, pairs);
        size_t piece_bytes = piece.columns * sizeof(float);
        inlay_generator_start(&generator, kernels, sinusoid, first, pairs, INLAY_F32, positions);
        for (size_t s = begin; s < end;) {
            size_t rows = at_most(end - s, sizeof buffer / piece_bytes);
            inlay_generator_rows(&generator, &piece, rows, buffer, piece_bytes);
            for (int run = 0; run < piece.runs; run++) {
                struct block block = {
                    .s = s,
                    .count = rows,
                    .column = piece.run[run].first,
                    .columns = piece.run[run].count,
                    .positions = buffer + piece.run[run].at * sizeof(float),
                    .position_stride_bytes = piece_bytes,
                };
                embed_block(work, kernels, stream, &block);
            }
            s += rows;
        }
        first += INLAY_GENERATOR_PAIRS;
    } while (first < sinusoid->pairs);
}

void inlay_embed_run(const struct inlay_embed_work *work)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    bool stream = inlay_streams(work->stores, work->sequences * work->length, work->dim * sizeof(float));
    struct inlay_fpenv host = inlay_fpenv_enter();
    if (work->positions == NULL && work->sinusoid == NULL) {
        struct block all = {.count = work->length, .columns = work->dim};
        embed_block(work, kernels, stream, &all);
    } else {
        size_t held = work->position_count > (size_t)work->start ? work->position_count - (size_t)work->start : 0;
        held = at_most(held, work->length);
        embed_held(work, kernels, stream, 0, held);
        if (held < work->length)
            embed_computed(work, kernels, stream, held, work->length);
    }
    if (stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}
