/* SPDX-License-Identifier: MIT */
/*
 * Post-ops: norm, dropout and conversion to the output type, each a pass over the floats of a group in L1. Unused ones
 * cost nothing.
 */
#include "layer/dropout.h"
#include "layer/group.h"

/* Pointers to source and destination rows. */
struct rows {
    const unsigned char *from[INLAY_GROUP_TOKENS];
    unsigned char *to[INLAY_GROUP_TOKENS];
    size_t count;
};

/* Returns true if the norm can write its results into the output: nothing follows it, and stores that bypass the caches
   would be whole lines. */
static bool norm_is_last(const struct inlay_work *work, unsigned char *const *out, bool stream)
{
    return work->spec->out_type == INLAY_F32 && !inlay_drops(work) &&
           (!stream || ((uintptr_t)out[0] | work->out_stride_bytes) % INLAY_CACHE_LINE == 0);
}

/* Normalizes floats[i] into to[i]. */
static void apply_norm(const struct inlay_group *group, unsigned char *const *to, bool stream)
{
    const struct inlay_work *work = group->part->work;
    struct rows rows = {.count = 0};
    for (size_t i = 0; i < group->count; i++)
        if (inlay_row_gets_terms(group->kinds[i])) {
            rows.from[rows.count] = group->floats[i];
            rows.to[rows.count++] = to[i];
        }
    const struct inlay_norm_tile tile = {
        .rows = rows.from,
        .out = rows.to,
        .count = rows.count,
        .columns = group->columns,
        .norm = work->spec->norm,
        .epsilon = work->spec->epsilon,
        .gamma = work->spec->gamma,
        .beta = work->spec->beta,
        .stream = stream,
    };
    if (rows.count > 0)
        group->part->plan->transfers.kernels->norm(&tile);
}

static void apply_dropout(const struct inlay_group *group)
{
    const struct inlay_work *work = group->part->work;
    for (size_t i = 0; i < group->count; i++)
        if (inlay_row_gets_terms(group->kinds[i]))
            inlay_dropout(group->floats[i], group->columns,
                          (uint64_t)(group->first + i) * work->tokens->dim + group->column, work->batch.dropout_key,
                          work->batch.dropout_offset, work->batch.dropout);
}

/* Converts the floats of rows, except of those that are done. */
static void convert(const struct inlay_group *group, unsigned char *const *out, bool normalized)
{
    struct rows rows = {.count = 0};
    for (size_t i = 0; i < group->count; i++) {
        const bool done = normalized && inlay_row_gets_terms(group->kinds[i]);
        if (group->kinds[i] != INLAY_SKIPPED && out[i] != group->floats[i] && !done) {
            rows.from[rows.count] = group->floats[i];
            rows.to[rows.count++] = out[i];
        }
    }
    struct inlay_embed_tile tile = inlay_floats_tile(rows.from, rows.to, rows.count, group->columns);
    tile.out_type = group->part->work->spec->out_type;
    tile.stream = group->part->plan->transfers.stream;
    if (rows.count > 0)
        group->part->plan->transfers.kernels->embed(&tile);
}

void inlay_finish_group(const struct inlay_group *group, unsigned char *const *out)
{
    const struct inlay_work *work = group->part->work;
    const bool normalizes = work->spec->norm != INLAY_NORM_NONE, stream = group->part->plan->transfers.stream;
    const bool last = normalizes && norm_is_last(work, out, stream);
    if (normalizes)
        apply_norm(group, last ? out : group->floats, last && stream);
    if (inlay_drops(work))
        apply_dropout(group);
    convert(group, out, last);
}
