/* SPDX-License-Identifier: MIT */
/*
 * Validates a layer and a batch and turns them into work.
 */
#pragma once

#include "layer/handle.h"
#include "layer/work.h"

/* Checks all arrays that a call of `tokens` tokens reads, and that none overlaps the output. Only ids are required. */
inlay_status inlay_check_reads(const inlay_layer *layer, const inlay_batch *batch, size_t tokens,
                               struct inlay_extent written);

/* Validates all arguments of a forward call and fills in its work. If there are no rows, only `rows` is filled in.
   Reads no array before it is checked. */
inlay_status inlay_validate(struct inlay_work *work, const inlay_layer *layer, const inlay_batch *batch,
                            const void *out, size_t out_stride_bytes, const inlay_executor *executor,
                            inlay_fault *fault);
