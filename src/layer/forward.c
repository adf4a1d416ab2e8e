/* SPDX-License-Identifier: MIT */
/*
 * inlay_forward(): validates the batch, turns it into work, plans it and runs it. inlay_forward_explain() prints the
 * plan instead.
 */
#include "dispatch/dispatch.h"
#include "layer/routes.h"
#include "layer/validate.h"

/* Asks the layer's tuner about a call, which runs if it `begins`. Returns null for small calls, and without a tuner. */
static const struct inlay_tuned *ask_tuner(const inlay_layer *layer, const struct inlay_work *work, bool begins,
                                           struct inlay_tuned *tuned)
{
    const size_t bytes = inlay_bytes_of(work);
    if (layer->tuner == NULL || bytes < INLAY_TUNE_MIN_BYTES)
        return NULL;
    const bool tunes_stores = work->spec->stores == INLAY_STORES_AUTOMATIC && inlay_dispatch()->streams;
    inlay_tuner_ask(layer->tuner, bytes, tunes_stores, begins, tuned);
    return tuned;
}

inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out, size_t out_stride_bytes,
                           const inlay_executor *executor, inlay_fault *fault)
{
    struct inlay_work work;
    inlay_status status = inlay_validate(&work, layer, batch, "out", out, out_stride_bytes, executor, fault);
    if (status != INLAY_OK || work.rows == 0)
        return status;
    struct inlay_tuned memory;
    const struct inlay_tuned *tuned = ask_tuner(layer, &work, true, &memory);
    struct inlay_plan plan;
    inlay_make_plan(&plan, &work, executor, tuned);
    if (tuned != NULL)
        inlay_tuner_start(&plan.transfers.choices);
    inlay_plan_run(&plan, executor);
    const struct inlay_written output = {work.out, work.rows, work.row_bytes, work.out_stride_bytes};
    if (tuned != NULL && tuned->stores.timed)
        inlay_store_trial_end(layer->tuner, &tuned->stores, plan.transfers.stream, &output);
    return INLAY_OK;
}

inlay_status inlay_forward_explain(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                                   size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault,
                                   char *text, size_t text_bytes)
{
    struct inlay_work work;
    inlay_status status = inlay_validate(&work, layer, batch, "out", out, out_stride_bytes, executor, fault);
    if (status != INLAY_OK)
        return status;
    if (text == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, "text", NULL);
    if (text_bytes == 0)
        return inlay_blame(fault, INLAY_ERROR_SHAPE, "text_bytes", "is 0");
    if (work.rows == 0) {
        inlay_plan_print(NULL, NULL, NULL, text, text_bytes);
        return INLAY_OK;
    }
    struct inlay_tuned memory;
    struct inlay_plan plan;
    const struct inlay_tuned *tuned = ask_tuner(layer, &work, false, &memory);
    inlay_make_plan(&plan, &work, executor, tuned);
    inlay_plan_print(&plan, executor, tuned, text, text_bytes);
    return INLAY_OK;
}
