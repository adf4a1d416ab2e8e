/* SPDX-License-Identifier: MIT */
/*
 * The lookup path: token rows plus position and segment rows, each looked up by token. The kernel adds them in one
 * pass.
 */
#include "layer/routes.h"
#include "layer/rows.h"
#include "tile/tile.h"

/* Appends tokens [s, s_end) of a sequence to the tile. */
static void append_sequence(const struct inlay_part *part, size_t b, const inlay_table *positions,
                            struct inlay_tile *tile)
{
    const struct inlay_work *work = part->work;
    const struct inlay_sequence sequence = inlay_sequence_of(work, b);
    const size_t end = inlay_min(part->s_end, sequence.count);
    struct inlay_position_counter counter = inlay_count_positions(work, b);
    for (size_t s = part->s; s < end; s++) {
        const size_t token = sequence.first + s;
        unsigned char *const out = inlay_out_of(work, sequence, b, s);
        struct inlay_terms terms = {NULL, NULL};
        size_t row;
        const enum inlay_row_kind kind = inlay_row_of(work, token, &row);
        if (positions != NULL) {
            const uint64_t position = inlay_next_position(work, &counter, token, s);
            terms.position = inlay_row_place(positions, inlay_position_within(work, position), 0).row;
        }
        if (work->spec->segments != NULL)
            terms = inlay_with_segment(work, terms, token, 0);
        if (kind == INLAY_ROW)
            inlay_tile_append(tile, inlay_row_place(work->tokens, row, 0), terms, out);
        else
            inlay_write_special_row(part->plan->transfers.kernels, kind, work->spec->scale, terms, out,
                                    work->tokens->dim);
    }
}

/* Not inlined, even by link-time optimization: its arithmetic must stay within its caller's guarded environment. */
__attribute__((noinline)) void inlay_run_lookup(const struct inlay_part *part)
{
    const struct inlay_work *work = part->work;
    const inlay_table *positions = inlay_position_table(work);
    const bool segmented = work->spec->segments != NULL;
    struct inlay_tile tile;
    inlay_tile_begin(&tile, &part->plan->transfers, part->timer, work->tokens, work->spec->scale, work->tokens->dim,
                     positions != NULL || segmented, work->spec->out_type);
    if (positions != NULL && segmented)
        tile.call.segments = tile.segments;
    for (size_t b = part->b; b < part->b_end; b++)
        append_sequence(part, b, positions, &tile);
    inlay_tile_run(&tile);
}
