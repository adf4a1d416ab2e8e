/* SPDX-License-Identifier: MIT */
/*
 * Validation: check_spec.c checks specs, validate.c checks calls of layers and turns them into work. No other code of a
 * layer checks arguments, except those of the separate operations (plain.c) and the gradients (backward.c). Every check
 * names its field once. The fault may be null.
 */
#pragma once

#include "layer/handle.h"
#include "layer/work.h"

/* Checks a spec, and collects the memory that its layers read. */
inlay_status inlay_check_spec(const inlay_layer_spec *spec, struct inlay_layer_reads *reads, inlay_fault *fault);

/* Returns the index of the first value of the token mapping that is no row; without one, token_mapping_length. */
size_t inlay_first_mapping_gap(const inlay_layer_spec *spec);

/* Checks all arrays that a call of `tokens` tokens reads, and that none overlaps the argument `output`. Only ids are
   required. */
inlay_status inlay_check_reads(const inlay_layer *layer, const inlay_batch *batch, size_t tokens, const char *output,
                               struct inlay_extent written, inlay_fault *fault);

/* Checks all arguments of a forward call and fills in its work. `output` is the name of `out` in faults. If there are
   no rows, only `rows` is filled in. Reads no array before it is checked. */
inlay_status inlay_validate(struct inlay_work *work, const inlay_layer *layer, const inlay_batch *batch,
                            const char *output, const void *out, size_t out_stride_bytes,
                            const inlay_executor *executor, inlay_fault *fault);
