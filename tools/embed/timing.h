/* SPDX-License-Identifier: MIT */
/*
 * How fast the forward pass is on this machine, beside the least that any layer must do: copying the same rows of the
 * table to the same places.
 */
#pragma once

#include <inlay/inlay.h>

/** Measures for about 0.3 s or a few rounds, prints to stderr. `out` holds the forward pass' result afterwards. */
int timing_print(const inlay_layer *layer, const inlay_table *table, const inlay_batch *batch, float *out,
                 const inlay_executor *executor);
