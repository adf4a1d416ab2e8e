/* SPDX-License-Identifier: MIT */
/*
 * Positions outside, batch inside: a block of position rows, borrowed or computed, stays in L1 while every sequence of
 * the batch consumes it. Knows ids and positions, no arithmetic: that is the kernels'.
 */
#include "embed.h"

#include "dispatch.h"
#include "fpenv.h"
#include "validate.h"

/* Tokens whose pointers one kernel call gets. */
enum { TILE_TOKENS = 128 };

/* Position rows of a block: half of the smallest L1 data cache among our targets (32 KiB), the other half is for the
   rows that pass by. */
enum { BLOCK_BYTES = 16 * 1024 };

/*
 * Outputs larger than this leave by non-temporal stores: four times the largest per-core L2 in common use (2 MiB). A
 * larger L3 is no reason to wait: virtual machines report more than they have, and streaming is no slower there.
 */
enum { STREAM_BYTES = 8 * 1024 * 1024 };

struct pointers {
    const unsigned char *rows[TILE_TOKENS];
    const unsigned char *positions[TILE_TOKENS];
    unsigned char *out[TILE_TOKENS];
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
            if (++tile.count == TILE_TOKENS) {
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
    size_t rows = BLOCK_BYTES / sizeof(float) / work->dim;
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

/* The same where the rows are computed: pieces of as many pairs as the buffer holds, for as many positions. */
static void embed_computed(const struct inlay_embed_work *work, const struct inlay_kernels *kernels, bool stream,
                           size_t s, size_t end)
{
    enum { BUFFER_FLOATS = BLOCK_BYTES / sizeof(float) };
    _Alignas(64) float buffer[BUFFER_FLOATS];
    unsigned char *piece = (unsigned char *)buffer;
    const inlay_sinusoid *sinusoid = work->sinusoid;
    size_t pairs = at_most(sinusoid->pairs, BUFFER_FLOATS / 2);
    size_t piece_bytes = 2 * pairs * sizeof(float);
    size_t rows = sizeof buffer / piece_bytes;
    for (; s < end; s += at_most(end - s, rows)) {
        size_t count = at_most(end - s, rows);
        for (size_t first = 0; first < sinusoid->pairs; first += pairs) {
            size_t some = at_most(sinusoid->pairs - first, pairs);
            for (size_t i = 0; i < count; i++)
                inlay_sinusoid_fill(kernels, sinusoid, (uint32_t)(work->start + (int64_t)(s + i)), first, some,
                                    piece + i * piece_bytes);
            struct inlay_columns runs[2];
            int n = inlay_sinusoid_columns(sinusoid, first, some, runs);
            for (int run = 0; run < n; run++) {
                struct block block = {
                    .s = s,
                    .count = count,
                    .column = runs[run].first,
                    .columns = runs[run].count,
                    .positions = piece + runs[run].at * sizeof(float),
                    .position_stride_bytes = piece_bytes,
                };
                embed_block(work, kernels, stream, &block);
            }
        }
    }
}

static bool streams(const struct inlay_embed_work *work)
{
    if (work->stores != INLAY_STORES_AUTOMATIC)
        return work->stores == INLAY_STORES_STREAMED;
    return work->sequences * work->length * work->dim > STREAM_BYTES / sizeof(float);
}

void inlay_embed_run(const struct inlay_embed_work *work)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    bool stream = streams(work);
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
