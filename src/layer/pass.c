/* SPDX-License-Identifier: MIT */
/*
 * The pass: splits the work into the parts of its plan and runs the route for each.
 */
#include "base/executor.h"
#include "base/fpenv.h"
#include "layer/routes.h"

#include <string.h>

static void (*const routes[])(const struct inlay_part *part) = {
    [INLAY_ROUTE_FAST] = inlay_run_fast,
    [INLAY_ROUTE_LOOKUP] = inlay_run_lookup,
    [INLAY_ROUTE_GENERAL] = inlay_run_general,
    [INLAY_ROUTE_POOLED] = inlay_run_pooled,
};

/* Writes zeros after the end of padded sequences. */
static void pad(const struct inlay_part *part)
{
    const struct inlay_work *work = part->work;
    for (size_t b = part->b; b < part->b_end; b++) {
        const struct inlay_sequence sequence = inlay_sequence_of(work, b);
        for (size_t s = part->s > sequence.count ? part->s : sequence.count; s < part->s_end; s++)
            memset(inlay_out_of(work, sequence, b, s), 0, work->row_bytes);
    }
}

static void run_part(struct inlay_part *part)
{
    const struct inlay_work *work = part->work;
    struct inlay_fpenv host = inlay_fpenv_enter();
    inlay_part_timer_begin(part->timer, &part->plan->transfers.choices);
    if (work->batch.offsets != NULL) {
        if (work->batch.padded_length > 0 && work->spec->pooling == INLAY_POOLING_NONE)
            pad(part);
        part->s_end = inlay_min(part->s_end, work->longest);
        part->s = inlay_min(part->s, part->s_end);
    }
    if (part->s < part->s_end || work->spec->pooling != INLAY_POOLING_NONE)
        routes[part->plan->route](part);
    if (part->plan->transfers.stream)
        inlay_store_fence();
    inlay_part_timer_end(part->timer);
    inlay_fpenv_leave(host);
}

static void run_part_of_grid(void *arg, size_t index)
{
    const struct inlay_plan *plan = arg;
    const struct inlay_parts *parts = &plan->parts;
    const size_t sequences = plan->work->batch.sequences;
    const size_t i = index / parts->across_sequences, j = index % parts->across_sequences;
    struct inlay_part_timer timer;
    struct inlay_part part = {
        .work = plan->work,
        .plan = plan,
        .timer = &timer,
        .s = inlay_share_begin(parts->length, parts->across_positions, i),
        .s_end = inlay_share_begin(parts->length, parts->across_positions, i + 1),
        .b = inlay_share_begin(sequences, parts->across_sequences, j),
        .b_end = inlay_share_begin(sequences, parts->across_sequences, j + 1),
    };
    run_part(&part);
}

void inlay_plan_run(struct inlay_plan *plan, const inlay_executor *executor)
{
    const size_t parts = plan->parts.across_positions * plan->parts.across_sequences;
    if (parts == 1) {
        struct inlay_part_timer timer;
        struct inlay_part whole = {plan->work, plan, &timer, 0, plan->work->batch.sequences, 0, plan->parts.length};
        run_part(&whole);
        return;
    }
    inlay_run_parts(executor, parts, run_part_of_grid, plan);
}
