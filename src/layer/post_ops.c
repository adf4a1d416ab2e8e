/* SPDX-License-Identifier: MIT */
/*
 * Post-ops: norm, dropout and conversion to the output type, each a pass over floats in L1, of the stage of a tile or
 * of a group. Unused ones cost nothing.
 */
#include "layer/dropout.h"
#include "layer/group.h"

/* Normalizes rows of floats into to[i]. */
static void normalize(const struct inlay_part *part, unsigned char *const *floats, const struct inlay_row_sums *sums,
                      unsigned char *const *to, size_t count, bool stream)
{
    const inlay_layer_spec *spec = part->work->spec;
    const struct inlay_norm_tile tile = {
        .rows = (const unsigned char *const *)floats,
        .out = to,
        .sums = sums,
        .count = count,
        .columns = part->work->tokens->dim,
        .norm = spec->norm,
        .epsilon = spec->epsilon,
        .gamma = spec->gamma,
        .beta = spec->beta,
        .stream = stream,
    };
    part->plan->transfers.kernels->norm(&tile);
}

void inlay_convert_rows(const struct inlay_part *part, unsigned char *const *floats, unsigned char *const *out,
                        size_t count, size_t columns)
{
    struct inlay_embed_tile tile = inlay_floats_tile((const unsigned char *const *)floats, out, count, columns);
    tile.out_type = part->work->spec->out_type;
    tile.stream = part->plan->transfers.stream;
    part->plan->transfers.kernels->embed(&tile);
}

/* Returns true if the norm can write its results into the output: it has no other type, and stores that bypass the
   caches would be whole lines. */
static bool norm_writes_output(const struct inlay_part *part, unsigned char *const *out, size_t count)
{
    uintptr_t addresses = 0;
    for (size_t i = 0; i < count; i++)
        addresses |= (uintptr_t)out[i];
    return part->work->spec->out_type == INLAY_F32 &&
           (!part->plan->transfers.stream || addresses % INLAY_CACHE_LINE == 0);
}

void inlay_finish_rows(const void *context, unsigned char *const *floats, const struct inlay_row_sums *sums,
                       unsigned char *const *out, size_t count)
{
    const struct inlay_part *part = context;
    const bool normalizes = part->work->spec->norm != INLAY_NORM_NONE;
    const bool last = normalizes && norm_writes_output(part, out, count);
    if (normalizes)
        normalize(part, floats, sums, last ? out : floats, count, last && part->plan->transfers.stream);
    if (!last)
        inlay_convert_rows(part, floats, out, count, part->work->tokens->dim);
}

void inlay_finish_group(const struct inlay_group *group, unsigned char *const *out)
{
    const struct inlay_work *work = group->part->work;
    unsigned char *from[INLAY_GROUP_TOKENS], *to[INLAY_GROUP_TOKENS];
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (inlay_row_gets_terms(group->kinds[i]))
            from[count++] = group->floats[i];
    if (work->spec->norm != INLAY_NORM_NONE && count > 0)
        normalize(group->part, from, NULL, from, count, false);
    for (size_t i = 0; i < group->count && inlay_drops(work); i++)
        if (inlay_row_gets_terms(group->kinds[i]))
            inlay_dropout(group->floats[i], group->columns,
                          (uint64_t)(group->first + i) * work->tokens->dim + group->column, work->batch.dropout_key,
                          work->batch.dropout_offset, work->batch.dropout);
    count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->kinds[i] != INLAY_SKIPPED && out[i] != group->floats[i]) {
            from[count] = group->floats[i];
            to[count++] = out[i];
        }
    if (count > 0)
        inlay_convert_rows(group->part, from, to, count, group->columns);
}
