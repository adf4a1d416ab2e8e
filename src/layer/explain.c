/* SPDX-License-Identifier: MIT */
/*
 * Prints the plan of a call, and the reason of each decision, derived from the plan and its inputs.
 */
#include "base/executor.h"
#include "layer/plan.h"

#include <stdarg.h>
#include <stdio.h>

/* On Windows, compilers take "printf" for the formats of Microsoft's C library. mingw-w64's header defines the name for
   the formats of its own functions. */
#ifdef __MINGW_PRINTF_FORMAT
#define PRINTF_FORMAT __MINGW_PRINTF_FORMAT
#else
#define PRINTF_FORMAT printf
#endif

struct text {
    char *at;
    size_t left; /* including the null character */
};

__attribute__((format(PRINTF_FORMAT, 2, 3))) static void print(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    size_t done = n < 0 ? 0 : inlay_min((size_t)n, text->left - 1);
    text->at += done;
    text->left -= done;
}

static const char *positions_reason(const struct inlay_plan *plan)
{
    const struct inlay_choices *choices = &plan->transfers.choices;
    switch (plan->positions.source) {
    case INLAY_POSITIONS_ABSENT:
        return "the layer has none";
    case INLAY_POSITIONS_FOUND:
        return "each token's position is looked up";
    case INLAY_POSITIONS_READ:
        return plan->work->spec->sinusoid != NULL ? "all of them are cached" : "they are learned";
    case INLAY_POSITIONS_COMPUTED:
        break;
    }
    return !inlay_positions_are_in_memory(plan->work) ? "not all of them are cached"
           : !choices->chosen       ? "each part has one sequence, and its position rows exceed compute_bytes"
           : choices->tuned != NULL ? "each part has one sequence: self-tuning picks reading or computing"
                                    : "each part has one sequence: picked by self-tuning";
}

static void print_positions(struct text *text, const struct inlay_plan *whole)
{
    const struct inlay_position_plan *plan = &whole->positions;
    const struct inlay_work *work = whole->work;
    static const char *const names[] = {
        [INLAY_POSITIONS_ABSENT] = "none",
        [INLAY_POSITIONS_READ] = "read",
        [INLAY_POSITIONS_COMPUTED] = "computed",
        [INLAY_POSITIONS_FOUND] = "found token by token",
    };
    print(text, "positions: %s: %s", names[plan->source], positions_reason(whole));
    if (work->spec->sinusoid != NULL)
        print(text, "; %zu rows are cached", work->spec->positions->rows);
    if (plan->source == INLAY_POSITIONS_COMPUTED && plan->fused)
        print(text, "; each entry is added as it is computed");
    else if (plan->source == INLAY_POSITIONS_COMPUTED)
        print(text, "; in blocks of rows that stay in L1");
    else if (plan->block_tokens < SIZE_MAX)
        print(text, "; %zu rows at a time serve all sequences", plan->block_tokens);
    print(text, "\n");
}

/* Prints how rows are looked up, unless they are in one array indexed by the ids. */
static void print_table(struct text *text, const struct inlay_work *work)
{
    const size_t ids = work->spec->token_mapping_length, extents = work->tokens->extent_count;
    if (extents > 0)
        print(text, "table:     in %zu extents, which are found by %s\n", extents,
              work->tokens->extent_rows > 0 ? "a division" : "a binary search");
    if (ids > 0)
        print(text, "rows:      found through a mapping of %zu ids\n", ids);
}

static void print_post_ops(struct text *text, const struct inlay_work *work)
{
    static const char *const norms[] = {"", " LayerNorm", " RMSNorm", " L2 norm"};
    static const char *const poolings[] = {"", " sum", " mean"};
    static const char *const types[] = {[INLAY_F32] = "", [INLAY_F16] = " float16", [INLAY_BF16] = " bfloat16"};
    const inlay_layer_spec *spec = work->spec;
    const bool dropout = inlay_drops(work);
    const bool none = !spec->pooling && !spec->norm && !dropout && spec->out_type == INLAY_F32;
    print(text, "post-ops: %s%s%s%s%s%s\n", poolings[spec->pooling], inlay_is_weighted(work) ? " of weighted rows" : "",
          norms[spec->norm], dropout ? " dropout" : "", types[spec->out_type], none ? " none" : "");
}

static const char *stores_reason(const struct inlay_plan *plan, const struct inlay_tuned *tuned)
{
    return !plan->transfers.kernels->streams                    ? "this ISA has no non-temporal stores"
           : plan->work->spec->stores != INLAY_STORES_AUTOMATIC ? "chosen by the caller"
           : tuned != NULL && tuned->stores.timed               ? "self-tuning times both kinds of stores"
           : tuned != NULL && tuned->stores.stores != INLAY_STORES_AUTOMATIC
               ? "picked by self-tuning for outputs of this size"
           : plan->transfers.stream ? "the output is larger than stream_bytes"
                                    : "the output is no larger than stream_bytes";
}

static const char *prefetch_reason(const struct inlay_plan *plan)
{
    const struct inlay_work *work = plan->work;
    return plan->transfers.choices.picked                             ? "picked by self-tuning"
           : work->batch.ids == NULL                                  ? "rows are consecutive"
           : inlay_is_one_token(work)                                 ? "there is one token"
           : work->spec->tuning->prefetch != INLAY_PREFETCH_AUTOMATIC ? "chosen by the caller"
                                                                      : "the default for this CPU family";
}

static const char *parts_reason(const struct inlay_work *work, const inlay_executor *executor)
{
    return executor == NULL                                   ? "there is no executor"
           : inlay_parts(executor, inlay_bytes_of(work)) == 1 ? "too little work for a second thread"
           : inlay_keeps_sequences_whole(work)                ? "a sequence cannot be split"
                                               : "positions are split first, since sequences share position rows";
}

static void print_stores_and_prefetch(struct text *text, const struct inlay_plan *plan, const struct inlay_tuned *tuned)
{
    print(text, "stores:    %s: %s", plan->transfers.stream ? "non-temporal" : "cached", stores_reason(plan, tuned));
    const inlay_prefetch strategy = plan->transfers.choices.prefetch[plan->transfers.choices.computes];
    print(text, "\nprefetch:  %s: %s", inlay_strategies[strategy].text, prefetch_reason(plan));
    if (plan->transfers.choices.tuned != NULL && plan->transfers.choices.tuned->samples > 0)
        print(text, ": the fastest of %u parts that were timed", (unsigned)plan->transfers.choices.tuned->samples);
    print(text, "\n");
}

void inlay_plan_print(const struct inlay_plan *plan, const inlay_executor *executor, const struct inlay_tuned *tuned,
                      char *to, size_t bytes)
{
    static const char *const routes[] = {
        [INLAY_ROUTE_FAST] = "fast path",
        [INLAY_ROUTE_LOOKUP] = "lookup path",
        [INLAY_ROUTE_GENERAL] = "general path",
        [INLAY_ROUTE_POOLED] = "pooling",
    };
    struct text text = {to, bytes};
    if (plan == NULL) {
        print(&text, "route:     none: the output has no rows\n");
        return;
    }
    const struct inlay_work *work = plan->work;
    const struct inlay_parts *parts = &plan->parts;
    print(&text, "isa:       %s\n", plan->transfers.kernels->name);
    print(&text, "route:     %s: %s\n", routes[plan->route], plan->route_reason);
    print_table(&text, work);
    print_positions(&text, plan);
    print_post_ops(&text, work);
    print_stores_and_prefetch(&text, plan, tuned);
    print(&text, "parts:     %zu", parts->across_positions * parts->across_sequences);
    if (parts->across_positions * parts->across_sequences > 1)
        print(&text, " (%zu along positions, %zu along sequences)", parts->across_positions, parts->across_sequences);
    print(&text, ": %s\n", parts_reason(work, executor));
}
