/* SPDX-License-Identifier: MIT */
/*
 * The lookup path: token rows plus position and segment rows, each looked up by token. The kernel adds them in one
 * pass. If a norm or conversion follows, rows pass through a stage in L1.
 */
#include "layer/group.h"
#include "layer/rows.h"
#include "tile/tile.h"

/* Sequences that share blocks of position rows. */
enum { MAX_TOGETHER = 16 };

/* Writes a row that isn't one of the table. The floats of the stage are free between kernel calls. */
static void write_special(const struct inlay_part *part, const struct inlay_stage *stage, enum inlay_row_kind kind,
                          struct inlay_terms terms, unsigned char *out)
{
    const struct inlay_work *work = part->work;
    unsigned char *floats = stage != NULL ? stage->floats : out;
    inlay_write_special_row(part->plan->transfers.kernels, kind, work->spec->scale, terms, floats, work->tokens->dim);
    if (stage != NULL && inlay_row_gets_terms(kind))
        inlay_finish_rows(part, &floats, NULL, &out, 1);
    else if (stage != NULL && kind != INLAY_SKIPPED)
        inlay_convert_rows(part, &floats, &out, 1, work->tokens->dim);
}

/* Appends tokens [begin, end) of a sequence to the tile. The counter is at token `begin`. */
static void append_tokens(const struct inlay_part *part, size_t b, size_t begin, size_t end,
                          const inlay_table *positions, struct inlay_position_counter *counter, struct inlay_tile *tile)
{
    const struct inlay_work *work = part->work;
    const struct inlay_sequence sequence = inlay_sequence_of(work, b);
    end = inlay_min(end, sequence.count);
    for (size_t s = begin; s < end; s++) {
        const size_t token = sequence.first + s;
        unsigned char *const out = inlay_out_of(work, sequence, b, s);
        struct inlay_terms terms = {NULL, NULL};
        size_t row;
        const enum inlay_row_kind kind = inlay_row_of(work, token, &row);
        if (positions != NULL) {
            /* Of a sinusoid, only the cached rows can be looked up. */
            const size_t at = inlay_position_within(work, inlay_next_position(work, counter, token, s));
            terms.position = inlay_row_place(positions, at < positions->rows ? at : 0, 0).row;
        }
        if (work->spec->segments != NULL)
            terms = inlay_with_segment(work, terms, token, 0);
        if (kind == INLAY_ROW)
            inlay_tile_append(tile, inlay_row_place(work->tokens, row, 0), terms, out);
        else
            write_special(part, tile->stage, kind, terms, out);
    }
}

/* Appends the tokens of `count` sequences, block by block: at the same place, most have the same position. */
static void append_sequences(const struct inlay_part *part, size_t b, size_t count, const inlay_table *positions,
                             struct inlay_tile *tile)
{
    struct inlay_position_counter counters[MAX_TOGETHER];
    size_t end = part->s;
    for (size_t i = 0; i < count; i++) {
        counters[i] = inlay_count_positions(part->work, b + i);
        end = inlay_max(end, inlay_min(part->s_end, inlay_sequence_of(part->work, b + i).count));
    }
    for (size_t s = part->s, n; s < end; s += n) {
        n = inlay_min(end - s, part->plan->positions.block_tokens);
        for (size_t i = 0; i < count; i++)
            append_tokens(part, b + i, s, s + n, positions, &counters[i], tile);
    }
}

static void look_up(const struct inlay_part *part, const struct inlay_stage *stage)
{
    const struct inlay_work *work = part->work;
    const inlay_table *positions = inlay_position_table(work);
    const bool segmented = work->spec->segments != NULL;
    struct inlay_tile tile;
    inlay_tile_begin(&tile, &part->plan->transfers, part->timer, work->tokens, work->spec->scale, work->tokens->dim,
                     positions != NULL || segmented, work->spec->out_type);
    if (positions != NULL && segmented)
        tile.call.segments = tile.segments;
    if (stage != NULL)
        inlay_tile_stage(&tile, stage);
    for (size_t b = part->b, n; b < part->b_end; b += n) {
        n = inlay_min(part->b_end - b, MAX_TOGETHER);
        append_sequences(part, b, n, positions, &tile);
    }
    inlay_tile_run(&tile);
}

static __attribute__((noinline)) void look_up_in_stage(const struct inlay_part *part)
{
    _Alignas(INLAY_CACHE_LINE) unsigned char floats[INLAY_SUM_BYTES];
    const struct inlay_work *work = part->work;
    const struct inlay_stage stage = {
        .floats = floats,
        .sums = work->spec->norm != INLAY_NORM_NONE && work->tokens->type == INLAY_F32 &&
                part->plan->transfers.kernels->sums,
        .squares_only = work->spec->norm != INLAY_NORM_LAYER,
        .finish = inlay_finish_rows,
        .context = part,
    };
    look_up(part, &stage);
}

/* Not inlined, even by link-time optimization: its arithmetic must stay within its caller's guarded environment. */
__attribute__((noinline)) void inlay_run_lookup(const struct inlay_part *part)
{
    if (inlay_sums_floats(part->work))
        look_up_in_stage(part);
    else
        look_up(part, NULL);
}
