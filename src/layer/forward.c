/* SPDX-License-Identifier: MIT */
/*
 * inlay_forward(): the batch is validated, described as work, planned and run. inlay_forward_explain() prints the plan
 * instead.
 */
#include "base/executor.h"
#include "layer/check_batch.h"
#include "layer/plan.h"

/* The work that a batch is for a layer; every field is named, as gcc clears those that are not in a slow way. */
static void describe(const inlay_layer *layer, const inlay_batch *batch, size_t tokens, const void *out,
                     size_t out_stride_bytes, struct inlay_work *work)
{
    const inlay_layer_spec *spec = &layer->spec;
    const size_t length = batch->offsets != NULL ? tokens : batch->length;
    *work = (struct inlay_work){
        .tokens = &layer->tokens,
        .ids = batch->ids,
        .id_type = batch->id_type,
        .scale = spec->scale,
        .special_rows = spec->bad_id != INLAY_BAD_ID_ERROR || spec->padding_id >= 0 || layer->tokens.vocab > 0,
        .zeros_positioned = spec->zero_rows == INLAY_ZERO_ROWS_POSITIONED,
        .bad_id = spec->bad_id,
        .padding_id = spec->padding_id,
        .substitute_id = spec->substitute_id,
        .positions = spec->positions,
        .sinusoid = spec->sinusoid,
        .start = batch->start,
        .starts = batch->starts,
        .position_ids = batch->position_ids,
        .position_id_type = batch->position_id_type,
        .padding_aware = spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE,
        .clamped = spec->clamp_positions != 0,
        .positions_per_token = false,
        .sequences = batch->sequences,
        .length = length,
        .dim = layer->tokens.dim,
        .offsets = batch->offsets,
        .longest = length,
        .padded_length = batch->offsets != NULL ? batch->padded_length : length,
        .out = (unsigned char *)(uintptr_t)out,
        .out_stride_bytes = out_stride_bytes,
        .segments = spec->segments,
        .segment_ids = batch->segment_ids,
        .segment_id_type = batch->segment_id_type,
        .segments_first = spec->segments_first != 0,
        .norm = spec->norm,
        .epsilon = spec->epsilon,
        .gamma = spec->gamma,
        .beta = spec->beta,
        .pooling = spec->pooling,
        .weights = batch->weights,
        .dropout = batch->dropout,
        .dropout_key = batch->dropout_key,
        .dropout_offset = batch->dropout_offset,
        .out_type = spec->out_type,
        .thresholds = layer->thresholds,
    };
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
    const struct inlay_plan plan = inlay_plan_of(&work, executor);
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
    const struct inlay_plan plan = inlay_plan_of(&work, executor);
    inlay_plan_print(&plan, &work, text, text_bytes);
    return INLAY_OK;
}
