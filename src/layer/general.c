/* SPDX-License-Identifier: MIT */
/*
 * The general path: terms that one kernel call can't add, positions computed token by token, dropout, and rows that
 * exceed the buffer of a stage. It processes a few tokens at a time as floats in L1. All sums are computed by the embed
 * kernel, which adds table rows to the sum so far. The post-ops are in post_ops.c.
 */
#include "base/line.h"
#include "layer/group.h"
#include "positions/generator.h"
#include "table/element.h"

static void begin_group(struct inlay_tile *tile, const struct inlay_group *group, const inlay_table *table, float scale,
                        bool positioned)
{
    /* run_sequence() has prefetched the rows */
    inlay_tile_begin(tile, &group->part->plan->transfers, NULL, table, scale, group->columns, positioned, INLAY_F32);
    tile->call.stream = group->stream;
}

/* Writes row * scale, plus terms[i] if there are any. Like the next two functions it is not inlined, since its tile
   would share the stack with the generator of computed positions. */
static __attribute__((noinline)) void sum_tokens(const struct inlay_group *group, const struct inlay_terms *terms)
{
    const struct inlay_work *work = group->part->work;
    struct inlay_tile tile;
    begin_group(&tile, group, work->tokens, work->spec->scale, terms != NULL && terms->position != NULL);
    if (terms != NULL && terms->segment != NULL)
        tile.call.segments = tile.segments;
    for (size_t i = 0; i < group->count; i++) {
        const struct inlay_terms own = terms != NULL ? terms[i] : (struct inlay_terms){NULL, NULL};
        if (group->kinds[i] == INLAY_ROW)
            inlay_tile_append(&tile, inlay_row_place(work->tokens, group->rows[i], group->column), own,
                              group->floats[i]);
        else
            inlay_write_special_row(group->part->plan->transfers.kernels, group->kinds[i], work->spec->scale, own,
                                    group->floats[i], group->columns);
    }
    inlay_tile_run(&tile);
}

/* Adds a row of a table to each token. */
static __attribute__((noinline)) void add_rows(const struct inlay_group *group, const inlay_table *table,
                                               const size_t *rows)
{
    struct inlay_tile tile;
    begin_group(&tile, group, table, 1, true);
    for (size_t i = 0; i < group->count; i++)
        if (inlay_row_gets_terms(group->kinds[i]))
            inlay_tile_append(&tile, inlay_row_place(table, rows[i], group->column),
                              (struct inlay_terms){group->floats[i], NULL}, group->floats[i]);
    inlay_tile_run(&tile);
}

/* Writes from[i] + position_rows[i], both float32. */
static __attribute__((noinline)) void add_terms(const struct inlay_group *group, const unsigned char *const *from,
                                                const unsigned char *const *position_rows)
{
    const inlay_table floats = {.type = INLAY_F32};
    struct inlay_tile tile;
    begin_group(&tile, group, &floats, 1, true);
    for (size_t i = 0; i < group->count; i++)
        if (inlay_row_gets_terms(group->kinds[i]))
            inlay_tile_append(&tile, (struct inlay_row_place){.row = from[i]},
                              (struct inlay_terms){position_rows[i], NULL}, group->floats[i]);
    inlay_tile_run(&tile);
}

static void add_segments(const struct inlay_group *group)
{
    const struct inlay_work *work = group->part->work;
    size_t rows[INLAY_GROUP_TOKENS];
    for (size_t i = 0; i < group->count; i++)
        rows[i] = inlay_segment_of(work, group->first + i);
    add_rows(group, work->spec->segments, rows);
}

/* Computes position rows that aren't in memory, runs of consecutive ones at once, into the output floats. Returns true
   if there are any. */
static bool compute_positions(struct inlay_group *group, size_t in_memory)
{
    bool any = false;
    for (size_t i = 0; i < group->count;) {
        if (!inlay_row_gets_terms(group->kinds[i]) || group->positions[i] < in_memory) {
            i++;
            continue;
        }
        size_t n = 1;
        while (i + n < group->count && inlay_row_gets_terms(group->kinds[i + n]) &&
               group->positions[i + n] == group->positions[i] + n)
            n++;
        const struct inlay_positions run = {.first = (uint32_t)group->positions[i]};
        inlay_sinusoid_fill(group->part->plan->transfers.kernels, group->part->work->spec->sinusoid, run, n, INLAY_F32,
                            group->floats[i], group->floats_stride_bytes, false);
        group->stream = false; /* the position is in the same cache lines as the sum */
        any = true;
        i += n;
    }
    return any;
}

/*
 * Sums (row * scale + segment) + position if computed positions are already in the output floats. The first sum is
 * built in a separate buffer, in chunks of columns. Not inlined, so the other sums don't have a second buffer in their
 * frame.
 */
static __attribute__((noinline)) void sum_segments_in_buffer(const struct inlay_group *group,
                                                             const unsigned char *const *position_rows)
{
    _Alignas(INLAY_CACHE_LINE) unsigned char buffer[INLAY_SUM_BYTES];
    const bool fits = group->columns * group->count <= INLAY_SUM_FLOATS;
    const size_t piece =
        fits ? group->columns : INLAY_SUM_FLOATS / group->count / INLAY_COLUMN_STEP * INLAY_COLUMN_STEP;
    for (size_t column = 0; column < group->columns; column += piece) {
        struct inlay_group target = *group, buffered;
        const unsigned char *terms[INLAY_GROUP_TOKENS];
        target.column = group->column + column;
        target.columns = inlay_min(group->columns - column, piece);
        for (size_t i = 0; i < group->count; i++)
            target.floats[i] = group->floats[i] + column * sizeof(float);
        buffered = target;
        for (size_t i = 0; i < group->count; i++)
            if (inlay_row_gets_terms(group->kinds[i])) {
                buffered.floats[i] = buffer + i * piece * sizeof(float);
                terms[i] = position_rows[i] + column * sizeof(float);
            }
        sum_tokens(&buffered, NULL);
        add_segments(&buffered);
        add_terms(&target, (const unsigned char *const *)buffered.floats, terms);
    }
}

/* Sums all terms of a group in the required order: at once if they are float32 rows, else one after the other. */
static void sum_terms(struct inlay_group *group)
{
    const struct inlay_work *work = group->part->work;
    const inlay_layer_spec *spec = work->spec;
    const inlay_table *table = inlay_position_table(work);
    const bool floats = table != NULL && table->type == INLAY_F32, at_once = inlay_terms_are_rows(work);
    const bool computed = spec->sinusoid != NULL && compute_positions(group, table->rows);
    const unsigned char *position_rows[INLAY_GROUP_TOKENS];
    struct inlay_terms terms[INLAY_GROUP_TOKENS];
    for (size_t i = 0; i < group->count; i++) {
        position_rows[i] = NULL;
        if (floats)
            position_rows[i] = group->positions[i] < table->rows
                                   ? inlay_row_place(table, group->positions[i], group->column).row
                                   : group->floats[i];
        terms[i] = (struct inlay_terms){position_rows[i], NULL};
        if (at_once && spec->segments != NULL)
            terms[i] = inlay_with_segment(work, terms[i], group->first + i, group->column);
    }
    if (at_once) {
        sum_tokens(group, terms);
        return;
    }
    if (spec->segments_first && computed) {
        sum_segments_in_buffer(group, position_rows);
        return;
    }
    const bool positions_at_once = floats && !spec->segments_first;
    sum_tokens(group, positions_at_once ? terms : NULL);
    if (spec->segments != NULL && spec->segments_first)
        add_segments(group);
    if (table != NULL && !positions_at_once)
        add_rows(group, table, group->positions);
    if (spec->segments != NULL && !spec->segments_first)
        add_segments(group);
}

/* Returns true if nothing follows the sum, which is made at once, so it can be stored directly. */
static bool sum_is_result(const struct inlay_work *work)
{
    return inlay_terms_are_rows(work) && work->spec->norm == INLAY_NORM_NONE && !inlay_drops(work);
}

static void run_group(struct inlay_group *group, unsigned char *out, unsigned char *buffer)
{
    const struct inlay_work *work = group->part->work;
    const size_t element = inlay_type_bytes(work->spec->out_type);
    const bool result = sum_is_result(work), whole = work->tokens->dim <= INLAY_SUM_FLOATS;
    /* If rows exceed the buffer, floats are summed in the output itself, 16-bit rows in pieces. */
    const bool in_place = work->spec->out_type == INLAY_F32 && (result || !whole);
    const size_t piece = whole || in_place ? work->tokens->dim : INLAY_SUM_FLOATS;
    for (group->column = 0; group->column < work->tokens->dim; group->column += piece) {
        unsigned char *to[INLAY_GROUP_TOKENS];
        group->columns = inlay_min(work->tokens->dim - group->column, piece);
        group->floats_stride_bytes = in_place ? work->out_stride_bytes : group->columns * sizeof(float);
        for (size_t i = 0; i < group->count; i++) {
            to[i] = out + i * work->out_stride_bytes + group->column * element;
            group->floats[i] = in_place ? to[i] : buffer + i * group->floats_stride_bytes;
        }
        group->stream = in_place && result && group->part->plan->transfers.stream;
        sum_terms(group);
        inlay_finish_group(group, to);
    }
}

/* Returns the number of tokens in a group. */
static size_t group_tokens(const struct inlay_work *work)
{
    const size_t fit = inlay_min(INLAY_SUM_FLOATS / work->tokens->dim, INLAY_GROUP_TOKENS);
    if (fit > 0)
        return fit > INLAY_NORM_ROWS ? fit / INLAY_NORM_ROWS * INLAY_NORM_ROWS : fit;
    return work->spec->out_type == INLAY_F32 ? 4 : 1;
}

static void run_sequence(const struct inlay_part *part, size_t b, unsigned char *buffer)
{
    const struct inlay_work *work = part->work;
    const struct inlay_sequence sequence = inlay_sequence_of(work, b);
    const bool positioned = work->spec->positions != NULL;
    const size_t end = inlay_min(part->s_end, sequence.count), most = group_tokens(work);
    size_t prefetched = sequence.first + part->s;
    struct inlay_position_counter counter = inlay_count_positions(work, b);
    struct inlay_group group = {.part = part};
    for (size_t s = part->s; s < end; s += group.count) {
        group.first = sequence.first + s;
        group.count = inlay_min(end - s, most);
        prefetched = inlay_prefetch_tokens(part, group.first, group.count, prefetched, sequence.first + end);
        for (size_t i = 0; i < group.count; i++) {
            group.kinds[i] = inlay_row_of(work, group.first + i, &group.rows[i]);
            if (positioned)
                group.positions[i] =
                    inlay_position_within(work, inlay_next_position(work, &counter, group.first + i, s + i));
        }
        run_group(&group, inlay_out_of(work, sequence, b, s), buffer);
        inlay_part_timer_wrote(part->timer, group.count * work->row_bytes);
    }
}

/* Not inlined, even by link-time optimization: its arithmetic must stay within its caller's guarded environment. */
__attribute__((noinline)) void inlay_run_general(const struct inlay_part *part)
{
    _Alignas(INLAY_CACHE_LINE) unsigned char buffer[INLAY_SUM_BYTES];
    for (size_t b = part->b; b < part->b_end; b++)
        run_sequence(part, b, buffer);
}
