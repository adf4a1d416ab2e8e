/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_plan: how a call is computed. inlay_make_plan() decides it once, from the work, its tuning, the CPU and
 * the executor; the functions after it carry it out. Each decision keeps its reason, for inlay_plan_print().
 */
#pragma once

#include "layer/work.h"
#include "tile/transfer.h"

enum inlay_route {
    INLAY_ROUTE_FAST,    /* tokens * scale + consecutive positions, float32 output: one kernel call per tile */
    INLAY_ROUTE_GENERAL, /* positions token by token, more terms, post-ops: a few tokens at a time in L1 */
    INLAY_ROUTE_POOLED,  /* the rows of a sequence are reduced to one */
};

enum inlay_position_source {
    INLAY_POSITIONS_ABSENT,
    INLAY_POSITIONS_READ,     /* all rows are in memory: learned, or cached rows of a sinusoid */
    INLAY_POSITIONS_COMPUTED, /* computed: rows beyond the cached ones, or all rows of long single sequences */
    INLAY_POSITIONS_FOUND,    /* looked up per token, and read or computed */
};

struct inlay_plan {
    const struct inlay_work *work;
    struct inlay_transfers transfers;
    struct inlay_store_trial_call store_trial; /* if stores are being tuned; else not timed, and the rest is unset */
    const char *stores_reason, *prefetch_reason;

    enum inlay_route route;
    enum inlay_position_source positions;
    const char *route_reason, *positions_reason;

    size_t block_tokens; /* fast path: position rows that stay in L1 while a part's sequences use them, >= 1 */

    /* Fast path with computed positions. */
    bool by_sequence;      /* sequences share no position rows and run one after another */
    bool fused;            /* if by_sequence: each entry is added to its token as it is computed */
    size_t compute_tokens; /* if by_sequence: longer sequences compute their positions even if these are cached */
    size_t read_quarters;  /* quarters of these sequences that read positions anyway, to time both */

    /* Parts: a grid over positions [0, length) and sequences. */
    size_t length;
    size_t across_positions, across_sequences;
    const char *parts_reason;
};

void inlay_make_plan(struct inlay_plan *plan, const struct inlay_work *work, const inlay_executor *executor);

/* Prints the plan as text, for inlay_forward_explain(). */
void inlay_plan_print(const struct inlay_plan *plan, const struct inlay_work *work, char *to, size_t bytes);

/* Tokens [s, s_end) of sequences [b, b_end), clipped to each sequence: the unit of work of a thread. */
struct inlay_part {
    const struct inlay_work *work;
    const struct inlay_plan *plan;
    struct inlay_part_timer *timer;
    size_t b, b_end, s, s_end;
};

/* Runs the plan: splits its work into parts for the executor and runs each one's route, in the guarded floating-point
   environment of its thread. */
void inlay_plan_run(struct inlay_plan *plan, const inlay_executor *executor);

/* The routes. Each computes one part by running kernels. */
void inlay_run_fast(const struct inlay_part *part);
void inlay_run_general(const struct inlay_part *part);
void inlay_run_pooled(const struct inlay_part *part);
