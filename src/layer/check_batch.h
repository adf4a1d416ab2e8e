/* SPDX-License-Identifier: MIT */
/*
 * Validation of a batch for a layer.
 */
#ifndef INLAY_LAYER_CHECK_BATCH_H
#define INLAY_LAYER_CHECK_BATCH_H

#include "layer/handle.h"
#include "layer/work.h"

/* What a batch comes to. */
struct inlay_batch_shape {
    size_t tokens; /* of all sequences */
    size_t rows;   /* of the output */
    struct inlay_extent written;
};

/* Validates the struct of a batch and the shape of its output. Of the arrays it reads at most the last offset, if the
   length is to be taken from there. */
inlay_status inlay_check_batch(const inlay_layer *layer, const inlay_batch *batch, const void *out,
                               size_t out_stride_bytes, struct inlay_batch_shape *shape, inlay_fault *fault);

/* Checks that all arrays are there which a call reads, and that none overlaps the output. */
inlay_status inlay_check_reads(const inlay_layer *layer, const inlay_batch *batch,
                               const struct inlay_batch_shape *shape);

/* Validates offsets, ids, positions and segment ids, in this order; finds the longest sequence of the work, and whether
   its positions have to be found token by token. */
inlay_status inlay_check_contents(struct inlay_work *work, size_t tokens, inlay_fault *fault);

#endif
