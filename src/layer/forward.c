/* SPDX-License-Identifier: MIT */
/*
 * inlay_forward(): the batch is validated and described as work, planned, and run. inlay_forward_explain() prints the
 * plan instead.
 */
#include "dispatch/dispatch.h"
#include "layer/describe.h"
#include "layer/plan.h"

/* Returns whether the stores of a call are learnt, by timing it: on CPUs of which nobody has measured how fast outputs
   are read. */
static bool learns_stores(const struct inlay_work *work)
{
    return work->rows * work->row_bytes >> INLAY_EPOCH_LEAST_LOG2 != 0 && work->learner != NULL &&
           work->spec->stores == INLAY_STORES_AUTOMATIC && inlay_dispatch()->streams &&
           inlay_cpu()->stream_bytes == 0;
}

/* Plans and runs a call whose stores are learnt. */
static __attribute__((noinline)) void run_epoch(const struct inlay_work *work, const inlay_executor *executor)
{
    struct inlay_plan plan;
    const struct inlay_epoch_call call = inlay_epoch_begin(work->learner, work->rows * work->row_bytes);
    inlay_make_plan(&plan, work, executor, &call);
    inlay_plan_run(&plan, work, executor);
    if (call.timed)
        inlay_epoch_end(&call);
}

inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out, size_t out_stride_bytes,
                           const inlay_executor *executor, inlay_fault *fault)
{
    struct inlay_work work;
    struct inlay_plan plan;
    inlay_status status = inlay_describe(&work, layer, batch, out, out_stride_bytes, executor, fault);
    if (status != INLAY_OK || work.rows == 0)
        return status;
    if (learns_stores(&work)) {
        run_epoch(&work, executor);
        return INLAY_OK;
    }
    inlay_make_plan(&plan, &work, executor, &inlay_no_epoch);
    inlay_plan_run(&plan, &work, executor);
    return INLAY_OK;
}

inlay_status inlay_forward_explain(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                                   size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault,
                                   char *text, size_t text_bytes)
{
    struct inlay_work work;
    struct inlay_plan plan;
    inlay_status status = inlay_describe(&work, layer, batch, out, out_stride_bytes, executor, fault);
    if (status != INLAY_OK)
        return status;
    if (text == NULL)
        return INLAY_ERROR_NULL;
    if (text_bytes == 0)
        return INLAY_ERROR_SHAPE;
    uint32_t samples = 0;
    if (work.rows > 0) {
        /* Of a copy, since what was learnt must not change. */
        struct inlay_learner copy = {.classes = {{.calls = 0}}};
        inlay_learnt learnt;
        inlay_learner_read(&layer->learnt, &learnt);
        inlay_learner_begin(&copy, &learnt);
        work.learner = work.learner != NULL ? &copy : NULL;
        const struct inlay_epoch_call call =
            learns_stores(&work) ? inlay_epoch_begin(work.learner, work.rows * work.row_bytes) : inlay_no_epoch;
        inlay_make_plan(&plan, &work, executor, &call);
        if (plan.moves.options.learns != NULL)
            samples = learnt.samples[plan.moves.options.learns - copy.classes];
    }
    inlay_plan_print(&plan, &work, samples, text, text_bytes);
    return INLAY_OK;
}
