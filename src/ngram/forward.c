/* SPDX-License-Identifier: MIT */
/*
 * inlay_ngram_forward(). For a few tokens at a time, computes their windows, then the rows of all columns, and appends
 * these to a tile. The tile prefetches a block of rows while the kernel runs on the block before. Sums accumulate in a
 * buffer and are converted at the end.
 */
#include "base/bits.h"
#include "base/executor.h"
#include "base/line.h"
#include "dispatch/dispatch.h"
#include "ngram/chunk.h"
#include "ngram/lookup.h"
#include "tile/tile.h"

#include <string.h>

/* A range of tokens in progress; run_forward() owns the buffers. */
struct work {
    const struct inlay_ngram_pass *pass;
    const struct inlay_ngram_gather *gather;
    size_t column, columns;        /* columns of each row in this piece */
    const inlay_table *tile_table; /* the table the tile was begun with; null: no tile begun */
    struct inlay_tile *tile;
    struct inlay_part_timer *timer;
    unsigned char *buffer;
};

/* Runs and closes the open tile, if any. */
static void end_tile(struct work *work)
{
    if (work->tile_table != NULL)
        inlay_tile_run(work->tile);
    work->tile_table = NULL;
}

/* Prepares the tile for rows of a table. */
static void use_table(struct work *work, const inlay_table *table)
{
    const struct inlay_ngram_gather *gather = work->gather;
    if (work->tile_table != NULL && inlay_tile_takes_both(work->tile_table, table))
        return;
    end_tile(work);
    work->tile_table = table;
    inlay_tile_begin(work->tile, &work->pass->transfers, work->timer, table, gather->lookup.scale, work->columns,
                     gather->sums, gather->sums ? INLAY_F32 : gather->lookup.out_type);
    if (gather->sums)
        work->tile->call.stream = false;
}

/* Appends the rows of a chunk for tokens from `token` on. Sets found[t] for each token that has any. The sum of token t
   is at t * columns in the buffer. */
static void append_chunk(struct work *work, const struct inlay_ngram_chunk *chunk, size_t token, bool *found)
{
    const struct inlay_ngram_pass *pass = work->pass;
    const struct inlay_ngram_gather *gather = work->gather;
    const bool zero_is_none = pass->input->ngram->zero_is_none;
    const size_t element = inlay_type_bytes(gather->lookup.out_type), count = chunk->call.count;
    const size_t first = (size_t)(chunk->call.columns - pass->input->ngram->columns) - pass->first_column;
    size_t end;
    for (size_t c = 0; c < count; c = end) {
        const inlay_table *table = gather->lookup.tables[chunk->call.columns[c].table];
        use_table(work, table);
        for (end = c + 1; end < count; end++)
            if (!inlay_tile_takes_both(table, gather->lookup.tables[chunk->call.columns[end].table]))
                break;
        for (size_t t = 0; t < chunk->call.tokens; t++) {
            unsigned char *out = pass->out + (token + t) * pass->token_stride_bytes +
                                 (first + c) * gather->lookup.column_stride_bytes + work->column * element;
            if (gather->sums)
                out = work->buffer + t * work->columns * sizeof(float);
            for (size_t i = c; i < end; i++) {
                const uint64_t row = chunk->rows[i * chunk->call.rows_stride + t];
                if (!zero_is_none || row != chunk->call.columns[i].offset) {
                    const inlay_table *own = gather->lookup.tables[chunk->call.columns[i].table];
                    inlay_tile_append(work->tile, inlay_row_place(own, (size_t)row, work->column),
                                      (struct inlay_terms){out, NULL}, out);
                    found[t] = true;
                } else if (!gather->sums) {
                    memset(out, 0, work->columns * element);
                }
                out += gather->sums ? 0 : gather->lookup.column_stride_bytes;
            }
        }
    }
}

/* Initializes the sums to -0.0, which leaves the first row unchanged, even its zeros. */
static void begin_sums(const struct work *work, size_t tokens)
{
    for (size_t i = 0; i < tokens * work->columns; i++)
        inlay_store_f32(work->buffer, i, -0.0f);
}

/* Converts the sums of tokens from `token` on. A token without rows gets 0. */
static void finish_sums(struct work *work, size_t token, size_t tokens, const bool *found)
{
    const struct inlay_ngram_pass *pass = work->pass;
    const size_t row_bytes = work->columns * sizeof(float);
    const unsigned char *rows[INLAY_NGRAM_TOKENS];
    unsigned char *out[INLAY_NGRAM_TOKENS];
    end_tile(work);
    for (size_t t = 0; t < tokens; t++) {
        if (!found[t])
            memset(work->buffer + t * row_bytes, 0, row_bytes);
        rows[t] = work->buffer + t * row_bytes;
        out[t] = pass->out + (token + t) * pass->token_stride_bytes +
                 work->column * inlay_type_bytes(work->gather->lookup.out_type);
    }
    struct inlay_embed_tile converted = inlay_floats_tile(rows, out, tokens, work->columns);
    converted.out_type = work->gather->lookup.out_type;
    converted.stream = pass->transfers.stream;
    pass->transfers.kernels->embed(&converted);
}

/* Computes columns [column, column + columns) of the output of tokens [token, end). */
static void run_piece(struct work *work, size_t token, size_t end)
{
    const struct inlay_ngram_pass *pass = work->pass;
    const size_t last = pass->first_column + pass->columns;
    struct inlay_ngram_walk walk;
    struct inlay_ngram_chunk chunk;
    size_t most = inlay_ngram_chunk_tokens(pass->columns);
    if (work->gather->sums)
        most = inlay_min(most, INLAY_SUM_FLOATS / work->columns);
    inlay_ngram_walk_begin(&walk, pass->input, token, end);
    for (size_t n; token < end; token += n) {
        bool found[INLAY_NGRAM_TOKENS] = {false};
        n = inlay_ngram_walk_next(&walk, most);
        if (work->gather->sums)
            begin_sums(work, n);
        for (size_t c = pass->first_column; c < last; c += chunk.call.count) {
            inlay_ngram_chunk_hash(&chunk, pass, c, walk.places, n);
            append_chunk(work, &chunk, token, found);
        }
        if (work->gather->sums)
            finish_sums(work, token, n, found);
    }
    end_tile(work);
}

/* Not inlined, to keep its arithmetic within the caller's guarded floating-point environment. */
static __attribute__((noinline)) void run_forward(const struct inlay_ngram_pass *pass, size_t token, size_t end)
{
    const struct inlay_ngram_gather *gather = pass->terms;
    _Alignas(INLAY_CACHE_LINE) unsigned char buffer[INLAY_SUM_BYTES];
    struct inlay_tile tile;
    struct inlay_part_timer timer;
    struct work work = {.pass = pass, .gather = gather, .tile = &tile, .timer = &timer, .buffer = buffer};
    inlay_part_timer_begin(&timer, &pass->transfers.choices);
    const size_t piece = gather->sums ? inlay_min(gather->dim, INLAY_SUM_FLOATS) : gather->dim;
    for (work.column = 0; work.column < gather->dim; work.column += piece) {
        work.columns = inlay_min(gather->dim - work.column, piece);
        run_piece(&work, token, end);
    }
}

/* Chooses how rows are moved. N-gram tables are large and their rows scattered, so whole rows are prefetched in blocks
   by default. */
static struct inlay_transfers choose_moves(const struct inlay_ngram_gather *gather, size_t tokens)
{
    const size_t rows = gather->sums ? 1 : gather->lookup.columns;
    const size_t bytes = inlay_product(tokens, rows * gather->row_bytes);
    const inlay_prefetch chosen = gather->tuning.prefetch;
    const bool one_row = tokens == 1 && gather->lookup.columns == 1;
    const struct inlay_kernels *kernels = inlay_dispatch();
    const struct inlay_options options = {.prefetch = one_row                              ? INLAY_PREFETCH_NONE
                                                      : chosen == INLAY_PREFETCH_AUTOMATIC ? INLAY_PREFETCH_L2_BLOCKS
                                                                                           : chosen};
    struct inlay_transfers transfers = {
        .kernels = kernels,
        .narrow_transfers = inlay_transfers_narrow(bytes),
        .stream = inlay_streams(kernels, gather->lookup.stores, &gather->tuning, bytes),
    };
    inlay_choose_fixed(&transfers.choices, options);
    return transfers;
}

inlay_status inlay_ngram_forward(const inlay_ngram *ngram, const inlay_ngram_batch *batch,
                                 const inlay_ngram_lookup *lookup, void *out, size_t token_stride_bytes,
                                 const inlay_executor *executor, inlay_fault *fault)
{
    inlay_fault unused;
    fault = fault != NULL ? fault : &unused;
    struct inlay_ngram_input input;
    struct inlay_ngram_gather gather;
    struct inlay_extent written = {0, 0};
    inlay_status status = inlay_ngram_validate(&input, ngram, batch, fault);
    if (status == INLAY_OK)
        status = inlay_blame(fault, inlay_ngram_check_lookup(ngram, lookup, &gather), "lookup", NULL);
    if (status == INLAY_OK)
        status = inlay_blame(fault, inlay_ngram_check_output(&gather, out, input.tokens, token_stride_bytes, &written),
                             "out", NULL);
    status = inlay_check_executor(status, executor, fault);
    if (status != INLAY_OK || input.tokens == 0)
        return status;
    status = inlay_ngram_check_reads(&input, written, NULL, fault);
    if (status == INLAY_OK)
        status = inlay_blame(fault, inlay_ngram_check_tables_apart(ngram, &gather, written), "out", NULL);
    if (status == INLAY_OK)
        status = inlay_ngram_check_contents(&input, fault);
    if (status != INLAY_OK)
        return status;
    struct inlay_ngram_pass pass = {
        .input = &input,
        .transfers = choose_moves(&gather, input.tokens),
        .first_column = gather.lookup.first_column,
        .columns = gather.lookup.columns,
        .out = out,
        .token_stride_bytes = token_stride_bytes,
        .terms = &gather,
        .run = run_forward,
    };
    inlay_ngram_run(&pass, gather.lookup.columns * gather.dim * sizeof(float), executor);
    return INLAY_OK;
}
