/* SPDX-License-Identifier: MIT */
/*
 * Times the forward pass on this machine against a floor: copying the same table rows to the same places.
 */
#pragma once

#include <inlay/inlay.h>

/** Measures for about 0.3 s or a few rounds, and prints to stderr. Afterwards `out` has the result of the forward
    pass. */
int timing_print(const inlay_layer *layer, const inlay_table *table, const inlay_batch *batch, float *out,
                 const inlay_executor *executor);
