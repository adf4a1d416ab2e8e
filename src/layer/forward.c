/* SPDX-License-Identifier: MIT */
/*
 * inlay_forward(): validates the batch, turns it into work, plans it and runs it. inlay_forward_explain() prints the
 * plan instead.
 */
#include "layer/plan.h"
#include "layer/validate.h"

inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out, size_t out_stride_bytes,
                           const inlay_executor *executor, inlay_fault *fault)
{
    struct inlay_work work;
    struct inlay_plan plan;
    inlay_status status = inlay_validate(&work, layer, batch, out, out_stride_bytes, executor, fault);
    if (status != INLAY_OK || work.rows == 0)
        return status;
    inlay_make_plan(&plan, &work, executor);
    inlay_plan_run(&plan, executor);
    const struct inlay_written output = {work.out, work.rows, work.row_bytes, work.out_stride_bytes};
    if (plan.store_trial.timed)
        inlay_store_trial_end(&plan.store_trial, &output);
    return INLAY_OK;
}

inlay_status inlay_forward_explain(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                                   size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault,
                                   char *text, size_t text_bytes)
{
    struct inlay_work work;
    struct inlay_plan plan;
    inlay_status status = inlay_validate(&work, layer, batch, out, out_stride_bytes, executor, fault);
    if (status != INLAY_OK)
        return status;
    if (text == NULL)
        return INLAY_ERROR_NULL;
    if (text_bytes == 0)
        return INLAY_ERROR_SHAPE;
    /* On a copy, since the state of self-tuning must not change. */
    struct inlay_tuner copy = {.fixed = layer->own_tuner.fixed};
    if (work.rows > 0) {
        inlay_tuning_state state;
        inlay_tuner_read(&layer->own_tuner, &state);
        inlay_tuner_begin(&copy, &state);
        work.tuner = work.tuner != NULL ? &copy : NULL;
        inlay_make_plan(&plan, &work, executor);
    }
    inlay_plan_print(&plan, &work, text, text_bytes);
    return INLAY_OK;
}
