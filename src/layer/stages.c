/* SPDX-License-Identifier: MIT */
/*
 * Tokens that go their own way: to positions that are listed, counted or clamped, through segments, norm and dropout,
 * to outputs of 16 bits, or several of them to one row. A few tokens at a time, each stage over floats that stay in L1;
 * every sum is the embed kernel's, of a stored row and what is there already. Baseline code.
 */
#include "positions/generator.h"
#include "layer/dropout.h"
#include "layer/resolve.h"

#include <string.h>

enum { BUFFER_BYTES = 16 * 1024, BUFFER_FLOATS = BUFFER_BYTES / 4, MOST_TOKENS = 16 };

/* Stored rows can be entered at multiples of this column. A tile has few tokens, of which each should know of others to
   come. */
enum { COLUMN_STEP = 256, MOST_AHEAD = 6 };

void inlay_put_no_row(const struct inlay_kernels *kernels, int kind, float scale, const unsigned char *position,
                      unsigned char *out, size_t columns)
{
    static const float zeros[256];
    const float outside = -0.0f;
    switch (kind) {
    case INLAY_BARE:
        memset(out, 0, columns * sizeof(float));
        break;
    case INLAY_OUTSIDE:
        for (size_t column = 0; column < columns; column++)
            memcpy(out + column * sizeof outside, &outside, sizeof outside);
        break;
    case INLAY_ZEROS:
        for (size_t column = 0; column < columns; column += 256) {
            size_t n = columns - column < 256 ? columns - column : 256;
            const unsigned char *row = (const unsigned char *)zeros;
            const unsigned char *term = position != NULL ? position + column * sizeof(float) : NULL;
            unsigned char *to = out + column * sizeof(float);
            struct inlay_embed_tile tile = {.rows = &row,
                                            .positions = term != NULL ? &term : NULL,
                                            .out = &to,
                                            .count = 1,
                                            .columns = n,
                                            .scale = scale};
            kernels->embed[INLAY_F32](&tile);
        }
        break;
    default:
        break;
    }
}

/* Some tokens of one sequence that follow each other, and the floats that each is on its way: columns [column, column +
   columns) of a row. */
struct group {
    const struct inlay_part *part;
    size_t first, count; /* of the ids */
    enum inlay_kind kinds[MOST_TOKENS];
    size_t rows[MOST_TOKENS];
    size_t positions[MOST_TOKENS];
    unsigned char *floats[MOST_TOKENS];
    size_t floats_stride_bytes;
    size_t column, columns;
    bool stream; /* the sum is all, and goes to the output */
};

static bool goes_on(enum inlay_kind kind)
{
    return kind == INLAY_ROW || kind == INLAY_ZEROS;
}

/* A tile of stored rows that are added to what is there, or of terms on the way to it. */
struct sum {
    const unsigned char *rows[MOST_TOKENS], *scales[MOST_TOKENS], *terms[MOST_TOKENS];
    size_t zero_at[MOST_TOKENS];
    unsigned char *out[MOST_TOKENS];
    size_t count;
};

static void sum_append(struct sum *sum, struct inlay_stored stored, const unsigned char *term, unsigned char *out)
{
    sum->rows[sum->count] = stored.row;
    sum->scales[sum->count] = stored.scales;
    sum->zero_at[sum->count] = stored.zero_at;
    sum->terms[sum->count] = term;
    sum->out[sum->count++] = out;
}

static void sum_run(const struct group *group, const struct sum *sum, const inlay_table *table, float scale,
                    bool with_terms)
{
    const size_t ahead = group->part->work->tuning.prefetch_rows;
    struct inlay_embed_tile tile = {
        .rows = sum->rows,
        .scales = sum->scales,
        .zeros = table->zeros,
        .zero_at = sum->zero_at,
        .group = table->group,
        .positions = with_terms ? sum->terms : NULL,
        .out = sum->out,
        .count = sum->count,
        .columns = group->columns,
        .scale = scale,
        .stream = group->stream,
        .narrow_moves = group->part->narrow,
        .prefetch_rows = ahead < MOST_AHEAD ? ahead : MOST_AHEAD,
    };
    if (sum->count > 0)
        group->part->kernels->embed[table->type](&tile);
}

/* Computes the rows of positions that no table holds into the floats themselves: runs of them at once. What is added to
   lies in cache, and stays there. */
static void compute_positions(struct group *group, size_t held)
{
    const struct inlay_embed_work *work = group->part->work;
    for (size_t i = 0; i < group->count;) {
        if (!goes_on(group->kinds[i]) || group->positions[i] < held) {
            i++;
            continue;
        }
        size_t n = 1;
        while (i + n < group->count && goes_on(group->kinds[i + n]) &&
               group->positions[i + n] == group->positions[i] + n)
            n++;
        const struct inlay_positions run = {.first = (uint32_t)group->positions[i]};
        inlay_sinusoid_fill(group->part->kernels, work->sinusoid, run, n, INLAY_F32, group->floats[i],
                            group->floats_stride_bytes, false);
        group->stream = false;
        i += n;
    }
}

/* row * scale, + terms[i] where there are terms. */
static void sum_tokens(const struct group *group, const unsigned char *const *terms)
{
    const struct inlay_embed_work *work = group->part->work;
    struct sum sum = {.count = 0};
    for (size_t i = 0; i < group->count; i++) {
        const unsigned char *term = terms != NULL ? terms[i] : NULL;
        if (group->kinds[i] == INLAY_ROW)
            sum_append(&sum, inlay_stored_at(work->tokens, group->rows[i], group->column), term, group->floats[i]);
        else
            inlay_put_no_row(group->part->kernels, group->kinds[i], work->scale, term, group->floats[i],
                             group->columns);
    }
    sum_run(group, &sum, work->tokens, work->scale, terms != NULL);
}

/* Adds a row of a table to each token that goes on. */
static void add_rows(const struct group *group, const inlay_table *table, const size_t *rows)
{
    struct sum sum = {.count = 0};
    for (size_t i = 0; i < group->count; i++)
        if (goes_on(group->kinds[i]))
            sum_append(&sum, inlay_stored_at(table, rows[i], group->column), group->floats[i], group->floats[i]);
    sum_run(group, &sum, table, 1, true);
}

static void add_segments(const struct group *group)
{
    const struct inlay_embed_work *work = group->part->work;
    size_t rows[MOST_TOKENS];
    for (size_t i = 0; i < group->count; i++) {
        rows[i] = 0;
        if (work->segment_ids != NULL) {
            uint64_t segment =
                inlay_load_once((uint64_t)inlay_id_at(work->segment_ids, work->segment_id_type, group->first + i));
            rows[i] = segment < work->segments->rows ? (size_t)segment : 0;
        }
    }
    add_rows(group, work->segments, rows);
}

/* Adds terms[i] to each token that goes on. */
static void add_terms(const struct group *group, const unsigned char *const *rows, const unsigned char *const *terms)
{
    const inlay_table floats = {.type = INLAY_F32};
    struct sum sum = {.count = 0};
    for (size_t i = 0; i < group->count; i++)
        if (goes_on(group->kinds[i]))
            sum_append(&sum, (struct inlay_stored){.row = rows[i]}, terms[i], group->floats[i]);
    sum_run(group, &sum, &floats, 1, true);
}

/*
 * (row * scale + segment) + position, where positions were computed to where the result goes: the first sum in a buffer
 * of its own, as many columns at a time as it has room for. Not inlined, so that who needs no second buffer has none in
 * its frame.
 */
static __attribute__((noinline)) void sum_segments_aside(const struct group *group, const unsigned char *const *terms)
{
    _Alignas(64) unsigned char buffer[BUFFER_BYTES];
    size_t fit = BUFFER_FLOATS / group->count / COLUMN_STEP * COLUMN_STEP;
    size_t piece = group->columns < fit || group->columns * group->count <= BUFFER_FLOATS ? group->columns : fit;
    for (size_t column = 0; column < group->columns; column += piece) {
        struct group whole = *group, aside;
        const unsigned char *rows[MOST_TOKENS], *at[MOST_TOKENS];
        whole.column = group->column + column;
        whole.columns = group->columns - column < piece ? group->columns - column : piece;
        for (size_t i = 0; i < group->count; i++)
            whole.floats[i] = group->floats[i] + column * sizeof(float);
        aside = whole;
        for (size_t i = 0; i < group->count; i++)
            if (goes_on(group->kinds[i])) {
                aside.floats[i] = buffer + i * piece * sizeof(float);
                rows[i] = aside.floats[i];
                at[i] = terms[i] + column * sizeof(float);
            }
        sum_tokens(&aside, NULL);
        add_segments(&aside);
        add_terms(&whole, rows, at);
    }
}

static void sum_segments_first(const struct group *group, const unsigned char *const *terms)
{
    bool aside = false;
    for (size_t i = 0; i < group->count && terms != NULL; i++)
        aside = aside || terms[i] == group->floats[i];
    if (aside) {
        sum_segments_aside(group, terms);
        return;
    }
    const unsigned char *rows[MOST_TOKENS];
    for (size_t i = 0; i < group->count; i++)
        rows[i] = group->floats[i];
    sum_tokens(group, NULL);
    add_segments(group);
    if (terms != NULL)
        add_terms(group, rows, terms);
}

/* The sum of all terms, in the order that is asked for. */
static void sum_terms(struct group *group)
{
    const struct inlay_embed_work *work = group->part->work;
    const inlay_table *table = work->positions;
    size_t held = table != NULL && table->type == INLAY_F32 ? table->rows : 0;
    bool has_terms = work->sinusoid != NULL || held > 0;
    const unsigned char *terms[MOST_TOKENS];
    if (work->sinusoid != NULL)
        compute_positions(group, held);
    for (size_t i = 0; i < group->count; i++) {
        terms[i] = NULL;
        if (has_terms && goes_on(group->kinds[i]))
            terms[i] = group->positions[i] < held ? inlay_stored_at(table, group->positions[i], group->column).row
                                                  : group->floats[i];
    }
    if (work->segments_first)
        sum_segments_first(group, has_terms ? terms : NULL);
    else
        sum_tokens(group, has_terms ? terms : NULL);
    if (table != NULL && table->type != INLAY_F32 && table->rows > 0)
        add_rows(group, table, group->positions);
    if (work->segments != NULL && !work->segments_first)
        add_segments(group);
}

/* The stages behind the sum, over whole rows; their result goes to `out`, or stays where out[i] are the floats. */
static void finish(const struct group *group, unsigned char *const *out)
{
    const struct inlay_embed_work *work = group->part->work;
    const struct inlay_kernels *kernels = group->part->kernels;
    const unsigned char *rows[MOST_TOKENS];
    unsigned char *to[MOST_TOKENS];
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (goes_on(group->kinds[i])) {
            rows[count] = group->floats[i];
            to[count++] = group->floats[i];
        }
    if (work->norm != INLAY_NORM_NONE && count > 0) {
        const struct inlay_norm_tile norm = {
            .rows = rows,
            .out = to,
            .count = count,
            .columns = group->columns,
            .centred = work->norm == INLAY_NORM_LAYER,
            .epsilon = work->epsilon,
            .gamma = work->gamma,
            .beta = work->beta,
        };
        kernels->norm(&norm);
    }
    if (work->dropout > 0)
        for (size_t i = 0; i < group->count; i++)
            if (goes_on(group->kinds[i]))
                inlay_dropout(group->floats[i], group->columns,
                              (uint64_t)(group->first + i) * work->dim + group->column, work->dropout_key,
                              work->dropout_offset, work->dropout);
    count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->kinds[i] != INLAY_SKIPPED && out[i] != group->floats[i]) {
            rows[count] = group->floats[i];
            to[count++] = out[i];
        }
    const struct inlay_cast_tile cast = {
        .rows = rows,
        .out = to,
        .count = count,
        .columns = group->columns,
        .type = work->out_type,
        .stream = group->part->stream,
    };
    if (count > 0)
        kernels->cast(&cast);
}

static void run_group(struct group *group, unsigned char *out, unsigned char *buffer)
{
    const struct inlay_embed_work *work = group->part->work;
    size_t element = inlay_type_bytes(work->out_type);
    /* Where the sum is all it is written at once. Rows too long for the buffer: floats take shape in the output itself,
       others in pieces. */
    bool sum_is_all = work->segments == NULL && work->norm == INLAY_NORM_NONE && work->dropout == 0 &&
                      (work->positions == NULL || work->positions->type == INLAY_F32);
    bool whole = work->dim <= BUFFER_FLOATS, in_place = work->out_type == INLAY_F32 && (sum_is_all || !whole);
    size_t piece = whole || in_place ? work->dim : BUFFER_FLOATS;
    for (group->column = 0; group->column < work->dim; group->column += piece) {
        unsigned char *to[MOST_TOKENS];
        group->columns = work->dim - group->column < piece ? work->dim - group->column : piece;
        group->floats_stride_bytes = in_place ? work->out_stride_bytes : group->columns * sizeof(float);
        for (size_t i = 0; i < group->count; i++) {
            to[i] = out + i * work->out_stride_bytes + group->column * element;
            group->floats[i] = in_place ? to[i] : buffer + i * group->floats_stride_bytes;
        }
        group->stream = in_place && sum_is_all && group->part->stream;
        sum_terms(group);
        finish(group, to);
    }
}

/* A number as the row of a table or of a sinusoid: validated, and kept within them whatever has changed since. */
static size_t position_of(const struct inlay_embed_work *work, uint64_t number)
{
    uint64_t limit = inlay_position_limit(work);
    if (number < limit)
        return (size_t)number;
    return work->clamped && limit > 0 ? (size_t)limit - 1 : 0;
}

/* Asks for the rows of so many tokens, as much of them as a group has room for: the stages of the tokens before leave
   memory time to send them. */
static void ask_for(const struct inlay_embed_work *work, size_t first, size_t count)
{
    enum { LINE = 64 };
    const size_t row_bytes = inlay_table_row_bytes(work->tokens->type, work->dim),
                 room = BUFFER_BYTES / (count > 0 ? count : 1);
    const size_t bytes = row_bytes < room ? row_bytes : room;
    for (size_t i = first; i < first + count; i++) {
        size_t row;
        if (inlay_row_of(work, i, &row) != INLAY_ROW)
            continue;
        const struct inlay_stored stored = inlay_stored_at(work->tokens, row, 0);
        if (stored.scales != NULL)
            __builtin_prefetch(stored.scales);
        for (size_t at = 0; at < bytes; at += LINE)
            __builtin_prefetch(stored.row + at);
    }
}

static void run_sequence(const struct inlay_part *part, size_t b, unsigned char *buffer)
{
    const struct inlay_embed_work *work = part->work;
    struct inlay_sequence sequence = inlay_sequence_of(work, b);
    bool positioned = work->positions != NULL || work->sinusoid != NULL;
    size_t end = part->s_end < sequence.count ? part->s_end : sequence.count;
    size_t fit = work->dim <= BUFFER_FLOATS ? BUFFER_FLOATS / work->dim : work->out_type == INLAY_F32 ? 4 : 1;
    size_t most = fit < MOST_TOKENS ? fit : MOST_TOKENS;
    struct inlay_numbers numbers = inlay_numbers_of(work, b);
    struct group group = {.part = part};
    for (size_t s = part->s; s < end; s += group.count) {
        group.first = sequence.first + s;
        group.count = end - s < most ? end - s : most;
        for (size_t i = 0; i < group.count; i++) {
            group.kinds[i] = inlay_row_of(work, group.first + i, &group.rows[i]);
            if (positioned)
                group.positions[i] = position_of(work, inlay_next_number(work, &numbers, group.first + i, s + i));
        }
        size_t left = end - s - group.count;
        if (part->far && work->tuning.prefetch_rows > 0)
            ask_for(work, group.first + group.count, left < most ? left : most);
        run_group(&group, inlay_out_of(work, sequence, b, s), buffer);
    }
}

/* The factor of one row among those that become one. */
static float weight_of(const struct inlay_embed_work *work, size_t token)
{
    float weight = 1;
    if (work->weights != NULL)
        memcpy(&weight, work->weights + token * sizeof weight, sizeof weight);
    return weight;
}

/* The rows of a sequence, one on top of the other: the kernel's rows are in turn, and each adds to the same floats. */
static void pool(const struct inlay_part *part, size_t b, unsigned char *buffer)
{
    const struct inlay_embed_work *work = part->work;
    struct inlay_sequence sequence = inlay_sequence_of(work, b);
    struct group group = {.part = part, .first = b, .count = 1, .kinds = {INLAY_ROW}, .floats = {buffer}};
    group.columns = work->dim;
    size_t most = work->weights != NULL ? 1 : MOST_TOKENS, pooled = 0;
    memset(buffer, 0, work->dim * sizeof(float));
    for (size_t s = 0; s < sequence.count;) {
        struct sum sum = {.count = 0};
        float factor = work->scale;
        for (; s < sequence.count && sum.count < most; s++) {
            size_t row;
            if (inlay_row_of(work, sequence.first + s, &row) != INLAY_ROW)
                continue;
            if (work->weights != NULL)
                factor = weight_of(work, sequence.first + s) * work->scale;
            sum_append(&sum, inlay_stored_at(work->tokens, row, 0), buffer, buffer);
            if (pooled++ == 0) { /* the first one stands alone: 0 + -0 would be 0 */
                s++;
                break;
            }
        }
        sum_run(&group, &sum, work->tokens, factor, pooled > 1 || sum.count > 1);
    }
    if (work->pooling == INLAY_POOLING_MEAN && pooled > 1) {
        struct sum mean = {.count = 0};
        const inlay_table floats = inlay_table_f32(buffer, 1, work->dim);
        sum_append(&mean, inlay_stored_at(&floats, 0, 0), NULL, buffer);
        sum_run(&group, &mean, &floats, 1 / (float)pooled, false);
    }
    unsigned char *out = work->out + b * work->out_stride_bytes;
    finish(&group, &out);
}

/* Not inlined, even by link-time optimisation: its arithmetic stays within the guard of who calls. */
__attribute__((noinline)) void inlay_stages_run(const struct inlay_part *part)
{
    _Alignas(64) unsigned char buffer[BUFFER_BYTES];
    for (size_t b = part->b; b < part->b_end; b++)
        if (part->work->pooling != INLAY_POOLING_NONE)
            pool(part, b, buffer);
        else
            run_sequence(part, b, buffer);
}
