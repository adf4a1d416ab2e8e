/* SPDX-License-Identifier: MIT */
/*
 * inlay_forward(): the batch is validated, described as work, planned and run. inlay_forward_explain() prints the plan
 * instead.
 */
#include "base/executor.h"
#include "layer/check_batch.h"
#include "layer/plan.h"

static void describe(const inlay_layer *layer, const inlay_batch *batch, size_t tokens, const void *out,
                     size_t out_stride_bytes, struct inlay_work *work)
{
    const inlay_layer_spec *spec = &layer->spec;
    work->spec = spec;
    work->tokens = &layer->tokens;
    work->batch = *batch;
    if (batch->offsets != NULL)
        work->batch.length = tokens;
    work->out = (unsigned char *)(uintptr_t)out;
    work->out_stride_bytes = out_stride_bytes;
    work->longest = work->batch.length;
    work->special_rows = spec->bad_id != INLAY_BAD_ID_ERROR || spec->padding_id >= 0 || layer->tokens.vocab > 0;
    work->padding_aware = spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE;
    work->positions_per_token = false;
    work->thresholds = &layer->thresholds;
}

/* Validates all arguments of a call and describes its work; *rows tells how many rows it writes. */
static inlay_status prepare(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                            size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault,
                            struct inlay_work *work, size_t *rows)
{
    if (layer == NULL || batch == NULL)
        return INLAY_ERROR_NULL;
    struct inlay_batch_shape shape;
    inlay_fault unused;
    if (fault == NULL)
        fault = &unused;
    inlay_status status = inlay_check_batch(layer, batch, out, out_stride_bytes, &shape, fault);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK)
        return status;
    *rows = shape.rows;
    if (*rows == 0)
        return INLAY_OK;
    status = inlay_check_reads(layer, batch, &shape);
    if (status != INLAY_OK)
        return status;
    describe(layer, batch, shape.tokens, out, out_stride_bytes, work);
    return inlay_check_contents(work, shape.tokens, fault);
}

inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out, size_t out_stride_bytes,
                           const inlay_executor *executor, inlay_fault *fault)
{
    struct inlay_work work;
    size_t rows;
    inlay_status status = prepare(layer, batch, out, out_stride_bytes, executor, fault, &work, &rows);
    if (status != INLAY_OK || rows == 0)
        return status;
    struct inlay_plan plan;
    inlay_make_plan(&plan, &work, executor);
    inlay_plan_run(&plan, &work, executor);
    return INLAY_OK;
}

inlay_status inlay_forward_explain(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                                   size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault,
                                   char *text, size_t text_bytes)
{
    struct inlay_work work;
    size_t rows;
    inlay_status status = prepare(layer, batch, out, out_stride_bytes, executor, fault, &work, &rows);
    if (status != INLAY_OK)
        return status;
    if (text == NULL)
        return INLAY_ERROR_NULL;
    if (text_bytes == 0)
        return INLAY_ERROR_SHAPE;
    if (rows == 0) {
        inlay_plan_print(NULL, NULL, text, text_bytes);
        return INLAY_OK;
    }
    struct inlay_plan plan;
    inlay_make_plan(&plan, &work, executor);
    inlay_plan_print(&plan, &work, text, text_bytes);
    return INLAY_OK;
}
