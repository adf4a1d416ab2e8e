/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_plan: how a call is computed. inlay_make_plan() decides it once, from the work, the executor, the CPU
 * and what self-tuning found. routes.h carries it out. inlay_plan_print() derives the reasons of the decisions.
 */
#pragma once

#include "layer/work.h"
#include "tile/transfer.h"

enum inlay_route {
    INLAY_ROUTE_FAST,    /* tokens * scale, float32 ones + consecutive positions: one kernel call per block */
    INLAY_ROUTE_LOOKUP,  /* positions and segments looked up by token, norms: a few kernel calls per block */
    INLAY_ROUTE_GENERAL, /* dropout, or terms that take several steps: a few tokens at a time in L1 */
    INLAY_ROUTE_POOLED,  /* the rows of a sequence are reduced to one */
};

enum inlay_position_source {
    INLAY_POSITIONS_ABSENT,
    INLAY_POSITIONS_READ,     /* all rows are in memory: learned, or cached rows of a sinusoid */
    INLAY_POSITIONS_COMPUTED, /* computed: rows beyond the cached ones, or all rows of long single sequences */
    INLAY_POSITIONS_FOUND,    /* looked up per token, and read or computed */
};

struct inlay_position_plan {
    enum inlay_position_source source;
    size_t block_tokens; /* position rows that stay in L1 while a part's sequences use them, >= 1 */

    /* Fast path with computed positions. */
    bool by_sequence;      /* sequences share no position rows and run one after another */
    bool fused;            /* if by_sequence: each entry is added to its token as it is computed */
    size_t compute_tokens; /* if by_sequence: longer sequences compute their positions even if these are cached */
    size_t read_quarters;  /* quarters of these sequences that read positions anyway, to time both */
};

/* A grid over positions [0, length) and sequences. */
struct inlay_parts {
    size_t length;
    size_t across_positions, across_sequences;
};

struct inlay_plan {
    const struct inlay_work *work;
    enum inlay_route route;
    const char *route_reason;
    struct inlay_position_plan positions;
    struct inlay_transfers transfers;
    struct inlay_parts parts;
};

/* Sets each field of the plan of a call with rows, once, and changes nothing else. `tuned` is null, or what self-tuning
   found for calls of this size. */
void inlay_make_plan(struct inlay_plan *plan, const struct inlay_work *work, const inlay_executor *executor,
                     const struct inlay_tuned *tuned);

/* Prints a plan and its reasons as text, for inlay_forward_explain(). Null: the output has no rows. The executor and
   `tuned` are those of the plan. */
void inlay_plan_print(const struct inlay_plan *plan, const inlay_executor *executor, const struct inlay_tuned *tuned,
                      char *to, size_t bytes);
