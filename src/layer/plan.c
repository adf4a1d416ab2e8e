/* SPDX-License-Identifier: MIT */
/*
 * Decides how a call is computed: its route, parts, stores, source of positions and prefetch strategy.
 */
#include "layer/plan.h"

#include "base/executor.h"
#include "dispatch/dispatch.h"
#include "positions/generator.h"
#include "tile/tile.h"

/* Returns the first reason to take the general path; null if the fast path or the lookup path can run the call. */
static const char *general_reason(const struct inlay_work *work, bool in_memory, bool by_token)
{
    return inlay_drops(work)             ? "dropout follows the sum"
           : !inlay_terms_are_rows(work) ? "quantized terms are added, or two terms are added to quantized rows"
           : inlay_sums_floats(work) && work->tokens->dim > INLAY_SUM_FLOATS
               ? "rows are summed as floats, and exceed their buffer"
           : in_memory                       ? NULL
           : by_token                        ? "positions may not be in memory, and the fast path can't compute them"
           : work->tokens->type == INLAY_F32 ? NULL
                                             : "computed positions are added to quantized rows";
}

/* Returns the first reason why the fast path can't run the call; null if there is none. */
static const char *lookup_reason(const struct inlay_work *work)
{
    const inlay_layer_spec *spec = work->spec;
    const bool halves = spec->out_type != INLAY_F32;
    return spec->segments != NULL             ? "token-type embeddings are added"
           : work->batch.position_ids != NULL ? "explicit position ids"
           : work->padding_aware              ? "padding-aware positions"
           : spec->clamp_positions            ? "positions are clamped to the last row"
           : work->positions_per_token        ? "some positions are out of range, but no token uses them"
           : spec->positions != NULL && spec->positions->extents != NULL
               ? "position rows are split across several arrays"
           : spec->norm != INLAY_NORM_NONE     ? "a norm follows the sum"
           : halves && spec->positions != NULL ? "outputs are 16-bit, and positions are added"
           : halves && work->special_rows      ? "outputs are 16-bit, and some ids may not be rows"
                                               : NULL;
}

static enum inlay_route choose_route(const struct inlay_work *work, bool in_memory, const char **reason)
{
    if (work->spec->pooling != INLAY_POOLING_NONE) {
        *reason = "sequences are pooled";
        return INLAY_ROUTE_POOLED;
    }
    const char *lookup = lookup_reason(work);
    *reason = general_reason(work, in_memory, lookup != NULL);
    if (*reason != NULL)
        return INLAY_ROUTE_GENERAL;
    *reason = lookup != NULL ? lookup : "tokens * scale, and consecutive positions if any";
    return lookup != NULL ? INLAY_ROUTE_LOOKUP : INLAY_ROUTE_FAST;
}

/* Splits along positions first. If sequences were split first, each part would read or compute the same position
   rows. */
static void choose_parts(struct inlay_parts *parts, const struct inlay_work *work, const inlay_executor *executor,
                         size_t bytes)
{
    const size_t count = inlay_parts(executor, bytes);
    parts->length = work->batch.padded_length > 0 ? work->batch.padded_length : work->longest;
    if (count == 1) { /* small calls skip the divisions below */
        parts->across_positions = parts->across_sequences = 1;
    } else if (inlay_keeps_sequences_whole(work)) {
        parts->across_positions = 1;
        parts->across_sequences = inlay_min(count, work->batch.sequences);
    } else {
        const size_t min_rows = work->spec->sinusoid != NULL ? INLAY_PART_POSITIONS : 1;
        parts->across_positions = inlay_min(count, (parts->length + min_rows - 1) / min_rows);
        parts->across_sequences = inlay_min(count / parts->across_positions, work->batch.sequences);
    }
}

static bool choose_stores(const struct inlay_work *work, const struct inlay_kernels *kernels, size_t bytes,
                          const struct inlay_tuned *tuned)
{
    const inlay_stores given = work->spec->stores;
    if (tuned == NULL || given != INLAY_STORES_AUTOMATIC)
        return inlay_streams(kernels, given, work->spec->tuning, bytes);
    return inlay_streams(kernels, tuned->stores.stores, work->spec->tuning, bytes) != tuned->stores.others;
}

/* How the fast path could compute position rows. */
struct computing {
    bool by_sequence, fused; /* as in struct inlay_position_plan */
    size_t compute_tokens;   /* as in struct inlay_position_plan, unless self-tuning chooses the source */
    bool computes;           /* rows are computed, unless self-tuning chooses to read them */
    bool either;             /* rows can be read or computed; self-tuning may choose */
};

static struct computing choose_computing(const struct inlay_work *work, enum inlay_route route, bool in_memory,
                                         const struct inlay_parts *parts, const struct inlay_kernels *kernels,
                                         bool stream)
{
    const struct computing none = {.compute_tokens = SIZE_MAX};
    if (work->spec->sinusoid == NULL || route != INLAY_ROUTE_FAST)
        return none;
    const bool one_sequence_per_part = parts->across_sequences == work->batch.sequences;
    const size_t compute_bytes = work->spec->tuning->compute_bytes;
    const size_t min_bytes = inlay_min(compute_bytes, INLAY_TUNE_MIN_BYTES);
    if (in_memory && (!one_sequence_per_part || work->longest * work->row_bytes <= min_bytes))
        return none;
    const bool by_sequence = one_sequence_per_part || work->batch.starts != NULL;
    /* In a fused pass, only the kernel can prefetch. */
    const bool fused = by_sequence && work->tokens->type == INLAY_F32 && !work->special_rows && kernels->prefetches &&
                       inlay_sinusoid_adds(work->spec->sinusoid, work->out, work->out_stride_bytes, stream);
    const size_t compute_tokens = fused && kernels->lanes > 0 ? compute_bytes / work->row_bytes : SIZE_MAX;
    return (struct computing){
        .by_sequence = by_sequence,
        .fused = fused,
        .compute_tokens = compute_tokens,
        .computes = !in_memory || work->longest > compute_tokens,
        .either = in_memory && one_sequence_per_part && compute_tokens < SIZE_MAX / work->row_bytes,
    };
}

/* Returns the prefetch strategy to start from, before self-tuning. */
static inlay_prefetch first_prefetch(const struct inlay_work *work, size_t bytes)
{
    if (work->batch.ids == NULL || inlay_is_one_token(work))
        return INLAY_PREFETCH_NONE;
    if (work->spec->tuning->prefetch != INLAY_PREFETCH_AUTOMATIC)
        return work->spec->tuning->prefetch;
    return inlay_first_strategy(work->tokens, inlay_table_row_bytes(work->tokens->type, work->tokens->dim), bytes);
}

static bool kernel_prefetches(const struct inlay_work *work, enum inlay_route route,
                              const struct inlay_kernels *kernels)
{
    const bool follows =
        route == INLAY_ROUTE_POOLED
            ? inlay_pools_addresses(work)
            : route != INLAY_ROUTE_GENERAL && (work->spec->out_type == INLAY_F32 || inlay_sums_floats(work));
    return follows && kernels->prefetches;
}

static void choose_positions(struct inlay_position_plan *plan, const struct inlay_work *work, enum inlay_route route,
                             const struct inlay_parts *parts, const struct computing *computing,
                             const struct inlay_choices *choices)
{
    const bool tries = choices->tries_source;
    plan->source = work->spec->positions == NULL ? INLAY_POSITIONS_ABSENT
                   : route != INLAY_ROUTE_FAST   ? INLAY_POSITIONS_FOUND
                   : choices->computes || tries  ? INLAY_POSITIONS_COMPUTED
                                                 : INLAY_POSITIONS_READ;
    const bool shared =
        plan->source == INLAY_POSITIONS_READ ||
        (plan->source == INLAY_POSITIONS_FOUND && route == INLAY_ROUTE_LOOKUP && work->batch.starts == NULL);
    /* Blocks only help if a part has several sequences: a single one uses each position row once. */
    plan->block_tokens = shared && parts->across_sequences < work->batch.sequences
                             ? inlay_max(work->spec->tuning->block_bytes / (work->tokens->dim * sizeof(float)), 1)
                             : SIZE_MAX;
    plan->by_sequence = computing->by_sequence;
    plan->fused = computing->fused;
    /* If a call that is timed as a whole tries the other source, all of it uses that source. If the current choice is
       to compute, it must then read all rows, so no sequence may exceed the limit. */
    plan->compute_tokens = !choices->chosen                               ? computing->compute_tokens
                           : tries && choices->whole && choices->computes ? SIZE_MAX
                                                                          : INLAY_PART_POSITIONS;
    plan->read_quarters = !tries || choices->whole ? 0 : choices->computes ? 1 : 3;
}

void inlay_make_plan(struct inlay_plan *plan, const struct inlay_work *work, const inlay_executor *executor,
                     const struct inlay_tuned *tuned)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    const size_t bytes = inlay_bytes_of(work);
    const bool in_memory = inlay_positions_are_in_memory(work);
    struct inlay_transfers *transfers = &plan->transfers;

    plan->work = work;
    plan->route = choose_route(work, in_memory, &plan->route_reason);
    choose_parts(&plan->parts, work, executor, bytes);
    transfers->kernels = kernels;
    transfers->narrow_transfers = inlay_transfers_narrow(bytes);
    transfers->stream = choose_stores(work, kernels, bytes, tuned);
    const struct computing computing =
        choose_computing(work, plan->route, in_memory, &plan->parts, kernels, transfers->stream);
    const struct inlay_options options = {
        .prefetchers = {kernel_prefetches(work, plan->route, kernels) ? INLAY_PREFETCHER_ROWS : INLAY_PREFETCHER_NONE,
                        computing.fused ? INLAY_PREFETCHER_SINUSOIDS : INLAY_PREFETCHER_NONE},
        .prefetch = first_prefetch(work, bytes),
        .computes = computing.computes,
        .either = computing.either,
        .part_bytes = tuned != NULL ? bytes / (plan->parts.across_positions * plan->parts.across_sequences) : 0,
    };
    /* While a call tries the other kind of stores, tune neither prefetching nor the source of positions: its times
       can't be compared. */
    if (tuned != NULL && !tuned->stores.others && !inlay_is_one_token(work))
        inlay_choose(&transfers->choices, &tuned->classes[computing.by_sequence], options);
    else
        inlay_choose_fixed(&transfers->choices, options);
    choose_positions(&plan->positions, work, plan->route, &plan->parts, &computing, &transfers->choices);
}
