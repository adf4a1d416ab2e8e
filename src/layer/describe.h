/* SPDX-License-Identifier: MIT */
/*
 * From a layer and a batch to validated work.
 */
#pragma once

#include "layer/handle.h"
#include "layer/work.h"

/* Checks all arrays that a call of `tokens` tokens reads, and that none overlaps what it writes. Only ids must be
   there. */
inlay_status inlay_check_reads(const inlay_layer *layer, const inlay_batch *batch, size_t tokens,
                               struct inlay_extent written);

/* Validates all arguments of a forward call and fills in its work; if that has no rows, nothing but `rows` is filled
   in. Reads no array before it is known to be there. */
inlay_status inlay_describe(struct inlay_work *work, const inlay_layer *layer, const inlay_batch *batch,
                            const void *out, size_t out_stride_bytes, const inlay_executor *executor,
                            inlay_fault *fault);
