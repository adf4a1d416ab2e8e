/* SPDX-License-Identifier: MIT */
/*
 * Planning a call.
 */
#include "layer/plan.h"

#include "base/executor.h"
#include "dispatch/dispatch.h"
#include "positions/generator.h"

/* Returns the first reason why a call cannot take the fast path; null if it can. */
static const char *general_reason(const struct inlay_work *work, bool in_memory)
{
    const inlay_layer_spec *spec = work->spec;
    const inlay_table *positions = spec->positions;
    const bool halves = spec->out_type != INLAY_F32, positioned = positions != NULL;
    return work->batch.position_ids != NULL                ? "explicit position ids"
           : work->padding_aware                           ? "padding-aware positions"
           : spec->clamp_positions                         ? "positions are clamped to the last row"
           : work->positions_per_token                     ? "some tokens have no position, others around them have"
           : spec->segments != NULL                        ? "token-type embeddings are added"
           : spec->norm != INLAY_NORM_NONE                 ? "a norm follows the sum"
           : inlay_drops(work)                             ? "dropout follows the sum"
           : halves && positioned                          ? "outputs have 16 bits, and positions are added"
           : halves && work->special_rows                  ? "outputs have 16 bits, and some tokens have no row"
           : positioned && positions->type != INLAY_F32    ? "position rows are quantized"
           : positioned && positions->extents != NULL      ? "position rows lie in several arrays"
           : !in_memory && work->tokens->type != INLAY_F32 ? "computed positions are added to quantized rows"
                                                           : NULL;
}

static void choose_route(struct inlay_plan *plan, const struct inlay_work *work, bool in_memory)
{
    if (work->spec->pooling != INLAY_POOLING_NONE) {
        plan->route = INLAY_ROUTE_POOLED;
        plan->route_reason = "sequences are pooled";
        return;
    }
    const char *reason = general_reason(work, in_memory);
    plan->route = reason != NULL ? INLAY_ROUTE_GENERAL : INLAY_ROUTE_FAST;
    plan->route_reason = reason != NULL ? reason : "tokens * scale and consecutive positions alone";
}

/* Decides how the fast path computes position rows that it doesn't read, and if it could do either. */
static void choose_computing(struct inlay_plan *plan, const struct inlay_work *work, bool in_memory)
{
    struct inlay_choices *choices = &plan->transfers.choices;
    const bool one_sequence_per_part = plan->across_sequences == work->batch.sequences;
    const size_t min_bytes = inlay_min(work->spec->tuning->compute_bytes, INLAY_TUNE_MIN_BYTES);
    if (in_memory && (!one_sequence_per_part || work->longest * work->row_bytes <= min_bytes))
        return;
    plan->by_sequence = one_sequence_per_part || work->batch.starts != NULL;
    /* A fused pass leaves prefetching to its kernel. */
    plan->fused = plan->by_sequence && work->tokens->type == INLAY_F32 && !work->special_rows &&
                  plan->transfers.kernels->prefetches &&
                  inlay_sinusoid_adds(work->spec->sinusoid, work->out, work->out_stride_bytes, plan->transfers.stream);
    if (plan->fused && plan->transfers.kernels->lanes > 0)
        plan->compute_tokens = work->spec->tuning->compute_bytes / work->row_bytes;
    choices->prefetchers[1] = plan->fused ? INLAY_PREFETCHER_SINUSOIDS : INLAY_PREFETCHER_NONE;
    choices->either = in_memory && one_sequence_per_part && plan->compute_tokens < SIZE_MAX / work->row_bytes;
    choices->computes = !in_memory || work->longest > plan->compute_tokens;
}

static void choose_positions(struct inlay_plan *plan, const struct inlay_work *work, bool in_memory)
{
    plan->by_sequence = plan->fused = false;
    plan->compute_tokens = plan->block_tokens = SIZE_MAX;
    plan->positions = INLAY_POSITIONS_ABSENT;
    plan->positions_reason = "the layer has none";
    if (work->spec->positions == NULL)
        return;
    if (plan->route == INLAY_ROUTE_GENERAL) {
        plan->positions = INLAY_POSITIONS_FOUND;
        plan->positions_reason = "the general path finds the position of each token";
        return;
    }
    plan->positions = INLAY_POSITIONS_READ;
    plan->positions_reason = work->spec->sinusoid != NULL ? "all of them are cached" : "they are learned";
    /* A single sequence uses each position row once: there is no block to keep. */
    if (plan->across_sequences < work->batch.sequences)
        plan->block_tokens = inlay_max(work->spec->tuning->block_bytes / work->row_bytes, 1);
    if (work->spec->sinusoid != NULL)
        choose_computing(plan, work, in_memory);
}

/* Chooses between reading and computing positions if both are possible, given the layer's self-tuning. */
static void choose_source(struct inlay_plan *plan, bool in_memory)
{
    const struct inlay_choices *choices = &plan->transfers.choices;
    const bool tries = choices->tries_source;
    if (!choices->computes && !tries)
        return;
    plan->positions = INLAY_POSITIONS_COMPUTED;
    plan->positions_reason = !in_memory         ? "not all of them are cached"
                             : !choices->chosen ? "a part has one sequence, whose rows take more than compute_bytes"
                             : choices->tuned != NULL
                                 ? "a part has one sequence: self-tuning picks reading or computing"
                                 : "a part has one sequence: picked by self-tuning";
    if (choices->chosen) /* a call that is timed as a whole and tries reading computes nothing */
        plan->compute_tokens = tries && choices->whole && choices->computes ? SIZE_MAX : INLAY_PART_POSITIONS;
    if (tries && !choices->whole)
        plan->read_quarters = choices->computes ? 1 : 3;
}

static void choose_stores(struct inlay_plan *plan, const struct inlay_work *work)
{
    const inlay_stores stores = work->spec->stores;
    const struct inlay_kernels *kernels = plan->transfers.kernels;
    const size_t bytes = work->rows * work->row_bytes;
    plan->store_trial.timed = false;
    plan->transfers.stream = inlay_streams(kernels, stores, work->spec->tuning, bytes);
    plan->stores_reason =
        plan->transfers.stream ? "the output is larger than stream_bytes" : "the output is no larger than stream_bytes";
    if (!kernels->streams) {
        plan->stores_reason = "this ISA has no others";
    } else if (stores != INLAY_STORES_AUTOMATIC) {
        plan->stores_reason = "the caller chose";
    } else if (bytes >> INLAY_STORE_TRIAL_MIN_LOG2 != 0 && work->tuner != NULL) {
        plan->store_trial = inlay_store_trial_begin(work->tuner, bytes, plan->transfers.stream);
        plan->transfers.stream = plan->store_trial.streams;
        if (plan->store_trial.timed)
            plan->stores_reason = "both kinds of stores are timed";
        else if (plan->store_trial.chosen)
            plan->stores_reason = "picked by self-tuning for outputs of this size";
    }
}

/* Chooses the prefetch strategy: the caller's, or the tuner's, which starts with inlay_first_strategy() of
   dispatch/tuning.c. Also chooses the width of the transfers. */
static void choose_prefetch(struct inlay_plan *plan, const struct inlay_work *work, size_t all_bytes, bool self_tunes)
{
    struct inlay_choices *choices = &plan->transfers.choices;
    plan->transfers.narrow_transfers = inlay_transfers_narrow(all_bytes);
    plan->prefetch_reason = work->batch.ids == NULL ? "rows follow each other" : "there is one token";
    if (work->batch.ids == NULL || (work->batch.sequences == 1 && work->longest == 1))
        return;
    const size_t row_bytes = inlay_table_row_bytes(work->tokens->type, work->tokens->dim);
    plan->prefetch_reason = "the caller chose";
    inlay_prefetch prefetch = work->spec->tuning->prefetch;
    if (prefetch == INLAY_PREFETCH_AUTOMATIC) {
        plan->prefetch_reason = "the default for this CPU family";
        prefetch = inlay_first_strategy(work->tokens, row_bytes, all_bytes);
    }
    inlay_choices_begin(choices, prefetch);
    if (self_tunes && all_bytes >= INLAY_TUNE_MIN_BYTES && /* saves small calls the division */
        inlay_tuner_join(work->tuner, all_bytes, all_bytes / (plan->across_positions * plan->across_sequences),
                         plan->by_sequence, choices))
        plan->prefetch_reason = "picked by self-tuning";
}

/* Splits along positions first, since parts of the same positions would each read or compute the same position rows. */
static void choose_parts(struct inlay_plan *plan, const struct inlay_work *work, const inlay_executor *executor,
                         size_t all_bytes)
{
    plan->across_positions = plan->across_sequences = 1;
    plan->parts_reason = executor == NULL ? "there is no executor" : "there is no work for a second thread";
    const size_t parts = inlay_parts(executor, all_bytes);
    if (parts == 1) /* saves small calls the divisions below */
        return;
    const size_t min_rows = work->spec->sinusoid != NULL ? INLAY_PART_POSITIONS : 1;
    plan->across_positions = inlay_min(parts, (plan->length + min_rows - 1) / min_rows);
    plan->parts_reason = "positions are cut first, since sequences share their rows";
    if (work->spec->pooling != INLAY_POOLING_NONE || work->padding_aware) {
        plan->across_positions = 1;
        plan->parts_reason = "a sequence is computed as a whole";
    }
    plan->across_sequences = inlay_min(parts / plan->across_positions, work->batch.sequences);
}

void inlay_make_plan(struct inlay_plan *plan, const struct inlay_work *work, const inlay_executor *executor)
{
    const inlay_layer_spec *spec = work->spec;
    const size_t all_bytes = inlay_bytes_of(work);
    plan->work = work;
    plan->transfers.kernels = inlay_dispatch();
    plan->transfers.choices = (struct inlay_choices){.prefetch = {INLAY_PREFETCH_NONE, INLAY_PREFETCH_NONE}};
    plan->length = work->batch.padded_length > 0 ? work->batch.padded_length : work->longest;
    plan->read_quarters = 0;
    const bool in_memory = spec->sinusoid == NULL || work->positions_end <= spec->positions->rows;
    choose_stores(plan, work);
    choose_route(plan, work, in_memory);
    const bool kernel_follows = plan->route == INLAY_ROUTE_POOLED
                                    ? inlay_pools_addresses(work)
                                    : plan->route == INLAY_ROUTE_FAST && spec->out_type == INLAY_F32;
    if (kernel_follows && plan->transfers.kernels->prefetches)
        plan->transfers.choices.prefetchers[0] = INLAY_PREFETCHER_ROWS;
    choose_parts(plan, work, executor, all_bytes);
    choose_positions(plan, work, in_memory);
    /* Timings taken while stores are being tried aren't valid for other stores. */
    choose_prefetch(plan, work, all_bytes,
                    !(plan->store_trial.timed && plan->store_trial.index >= INLAY_STORE_TRIAL_CALLS));
    choose_source(plan, in_memory);
}
