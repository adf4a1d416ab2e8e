/* SPDX-License-Identifier: MIT */
/*
 * The decisions of a call.
 */
#include "layer/plan.h"

#include "base/executor.h"
#include "dispatch/dispatch.h"
#include "positions/generator.h"

/* Returns why a call cannot take the fast path; null if it can. The first reason is given. */
static const char *general_reason(const struct inlay_work *work, bool in_memory)
{
    if (work->batch.position_ids != NULL)
        return "explicit position ids";
    if (work->padding_aware)
        return "padding-aware positions";
    if (work->spec->clamp_positions)
        return "positions are clamped to the last row";
    if (work->positions_per_token)
        return "some tokens have no position, others around them have";
    if (work->spec->segments != NULL)
        return "token-type embeddings are added";
    if (work->spec->norm != INLAY_NORM_NONE)
        return "a norm follows the sum";
    if (inlay_drops(work))
        return "dropout follows the sum";
    if (work->spec->out_type != INLAY_F32 && work->spec->positions != NULL)
        return "outputs have 16 bits, and positions are added";
    if (work->spec->out_type != INLAY_F32 && work->special_rows)
        return "outputs have 16 bits, and some tokens have no row";
    if (work->spec->positions != NULL && work->spec->positions->type != INLAY_F32)
        return "position rows are quantised";
    if (work->spec->positions != NULL && work->spec->positions->extents != NULL)
        return "position rows lie in several arrays";
    if (!in_memory && work->tokens->type != INLAY_F32)
        return "computed positions are added to quantised rows";
    return NULL;
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

/* Sets how the fast path computes those position rows that it does not read. */
static void choose_computing(struct inlay_plan *plan, const struct inlay_work *work, bool in_memory)
{
    const bool one_sequence_per_part = plan->across_sequences == work->batch.sequences;
    plan->by_sequence = one_sequence_per_part || (work->batch.starts != NULL && !in_memory);
    if (in_memory && (!plan->by_sequence || work->longest * work->row_bytes <= work->spec->tuning->compute_bytes))
        return;
    plan->fused = plan->by_sequence && work->tokens->type == INLAY_F32 && !work->special_rows &&
                  inlay_sinusoid_adds(work->spec->sinusoid, work->out, work->out_stride_bytes, plan->moves.stream);
    if (plan->fused && plan->moves.kernels->lanes > 0)
        plan->compute_tokens = work->spec->tuning->compute_bytes / work->row_bytes;
    if (!in_memory) {
        plan->positions = INLAY_POSITIONS_COMPUTED;
        plan->positions_reason = "not all of them are cached";
    } else if (work->longest > plan->compute_tokens) {
        plan->positions = INLAY_POSITIONS_COMPUTED;
        plan->positions_reason = "a part has one sequence, whose rows take more than compute_bytes: computing them is "
                                 "faster than reading them";
    }
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
    /* A lone sequence uses each position row once: no block of them needs to stay. */
    if (plan->across_sequences < work->batch.sequences)
        plan->block_tokens = inlay_most(work->spec->tuning->block_bytes / work->row_bytes, 1);
    if (work->spec->sinusoid != NULL)
        choose_computing(plan, work, in_memory);
}

static void choose_stores(struct inlay_plan *plan, const struct inlay_work *work, size_t written_bytes)
{
    const struct inlay_kernels *kernels = plan->moves.kernels;
    plan->moves.stream = inlay_streams(kernels, work->spec->stores, work->spec->tuning, written_bytes);
    plan->stores_reason = kernels->streams ? "the caller chose" : "this ISA has no others";
    if (kernels->streams && work->spec->stores == INLAY_STORES_AUTOMATIC)
        plan->stores_reason =
            plan->moves.stream ? "the output is larger than stream_bytes" : "the output is no larger than stream_bytes";
}

/* Returns why whole rows are prefetched, and not only their first lines; null if they are not. */
static const char *whole_rows_reason(const struct inlay_work *work, size_t row_bytes, size_t all_bytes)
{
    if (all_bytes > work->spec->tuning->l2_bytes)
        return "the rows of the call take more than l2_bytes";
    if (work->tokens->type != INLAY_F32)
        return "quantised rows are short";
    if (work->tokens->rows * work->tokens->stride_bytes > INLAY_COLD_TABLE_BYTES && row_bytes <= INLAY_SHORT_ROW_BYTES)
        return "short rows of a table that no cache holds";
    return NULL;
}

/* Returns whether whole rows are prefetched between rows of the block before, and not all at once. */
static bool prefetches_between_rows(const struct inlay_work *work, size_t row_bytes)
{
    const bool cold = work->tokens->rows * work->tokens->stride_bytes > INLAY_COLD_TABLE_BYTES;
    const bool few_walks = row_bytes <= INLAY_LONE_ROW_BYTES || row_bytes >= INLAY_BESIDE_ROW_BYTES;
    return work->tokens->type == INLAY_F32 && work->spec->out_type == INLAY_F32 && (!cold || few_walks);
}

/* Sets what is prefetched: in blocks of rows whose floats take prefetch_bytes, or of first lines. */
static void choose_prefetch(struct inlay_plan *plan, const struct inlay_work *work, size_t all_bytes)
{
    const size_t bytes = work->spec->tuning->prefetch_bytes;
    plan->moves.prefetch_rows = plan->rows_ahead = 0;
    plan->moves.whole_rows = plan->moves.between_rows = false;
    struct inlay_thresholds own;
    plan->moves.narrow_moves = inlay_thresholds(&own)->narrow_moves && all_bytes <= work->spec->tuning->l2_bytes;
    plan->prefetch_reason = bytes == 0 ? "prefetch_bytes is 0" : "there is one token";
    if (bytes == 0 || (work->batch.sequences == 1 && work->longest == 1))
        return; /* a single token does without the division */
    const size_t row_bytes = inlay_table_row_bytes(work->tokens->type, work->tokens->dim);
    const char *reason = whole_rows_reason(work, row_bytes, all_bytes);
    plan->moves.whole_rows = reason != NULL;
    plan->moves.between_rows = plan->moves.whole_rows && plan->route == INLAY_ROUTE_FAST &&
                               plan->moves.kernels->prefetches && prefetches_between_rows(work, row_bytes);
    plan->prefetch_reason = reason != NULL ? reason : "the rows of the call take no more than l2_bytes";
    plan->moves.prefetch_rows = INLAY_PREFETCH_LINES_ROWS;
    if (plan->moves.whole_rows)
        plan->moves.prefetch_rows = inlay_block_rows(work->spec->tuning, work->tokens->dim * sizeof(float));
    if (plan->moves.kernels->prefetches)
        plan->rows_ahead = inlay_most(inlay_least(INLAY_AHEAD_BYTES / row_bytes, INLAY_AHEAD_MOST), INLAY_AHEAD_LEAST);
}

/* Cuts along positions first, because parts side by side in the batch each read or compute the same position rows. */
static void choose_parts(struct inlay_plan *plan, const struct inlay_work *work, const inlay_executor *executor,
                         size_t all_bytes)
{
    plan->across_positions = plan->across_sequences = 1;
    plan->parts_reason = executor == NULL ? "there is no executor" : "there is no work for a second thread";
    const size_t parts = inlay_parts(executor, all_bytes);
    if (parts == 1) /* small calls do without the divisions below */
        return;
    const size_t least_rows = work->spec->sinusoid != NULL ? INLAY_PART_POSITIONS : 1;
    plan->across_positions = inlay_least(parts, (plan->length + least_rows - 1) / least_rows);
    plan->parts_reason = "positions are cut first, since sequences share their rows";
    if (work->spec->pooling != INLAY_POOLING_NONE || work->padding_aware) {
        plan->across_positions = 1;
        plan->parts_reason = "a sequence is computed as a whole";
    }
    plan->across_sequences = inlay_least(parts / plan->across_positions, work->batch.sequences);
}

void inlay_make_plan(struct inlay_plan *plan, const struct inlay_work *work, const inlay_executor *executor)
{
    const inlay_layer_spec *spec = work->spec;
    const bool pooled = spec->pooling != INLAY_POOLING_NONE, padded = work->batch.padded_length > 0;
    /* Pooled rows are few, and the rows that they are made of are many: their bytes may exceed the address space. */
    const size_t tokens = work->batch.offsets != NULL ? work->batch.length : work->batch.sequences * work->batch.length;
    size_t all_bytes;
    if (__builtin_mul_overflow(pooled ? tokens : work->rows, work->row_bytes, &all_bytes))
        all_bytes = SIZE_MAX;

    plan->moves.kernels = inlay_dispatch();
    plan->length = padded ? work->batch.padded_length : work->longest;
    const bool in_memory = spec->sinusoid == NULL || work->positions_end <= spec->positions->rows;
    choose_stores(plan, work, work->rows * work->row_bytes);
    choose_route(plan, work, in_memory);
    choose_parts(plan, work, executor, all_bytes);
    choose_positions(plan, work, in_memory);
    choose_prefetch(plan, work, all_bytes);
}
