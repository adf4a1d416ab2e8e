/* SPDX-License-Identifier: MIT */
/*
 * Runs a plan: parts, and the routes that compute them. The functions of one route are in one file.
 */
#pragma once

#include "layer/plan.h"

/* Tokens [s, s_end) of sequences [b, b_end), clipped to each sequence: the unit of work of a thread. */
struct inlay_part {
    const struct inlay_work *work;
    const struct inlay_plan *plan;
    struct inlay_part_timer *timer;
    size_t b, b_end, s, s_end;
};

/* Splits the work into parts for the executor and runs the plan's route for each, in the guarded floating-point
   environment of its thread. */
void inlay_plan_run(struct inlay_plan *plan, const inlay_executor *executor);

/* The routes. Each computes one part by running kernels. */
void inlay_run_fast(const struct inlay_part *part);
void inlay_run_lookup(const struct inlay_part *part);
void inlay_run_general(const struct inlay_part *part);
void inlay_run_pooled(const struct inlay_part *part);
