/* SPDX-License-Identifier: MIT */
/*
 * The input layer by its definition: layer.h and table.h as plain loops, without any code of src/. Sinusoids come from
 * inlay_sinusoid_rows(), which has its own tests for exactness. Covers bad ids, positions, segments and offsets, but no
 * other invalid arguments.
 */
#pragma once

#include <inlay/inlay.h>

#include <stdbool.h>

/* The largest dim of the reference. */
enum { REFERENCE_MAX_DIM = 5000 };

/* Does the same as inlay_forward() for a layer of `spec`: returns the status, writes *fault unless it is INLAY_OK, and
   writes the rows only if it is. `out` may have any alignment. */
inlay_status reference_forward(const inlay_layer_spec *spec, const inlay_batch *batch, unsigned char *out,
                               size_t out_stride_bytes, inlay_fault *fault);

/* Does the same as inlay_backward(): adds to the gradients only if it returns INLAY_OK. */
inlay_status reference_backward(const inlay_layer_spec *spec, const inlay_batch *batch,
                                const unsigned char *out_gradient, size_t out_stride_bytes,
                                const inlay_gradients *gradients, inlay_fault *fault);

/* Returns the number of output rows of a call. Offsets may be invalid. */
size_t reference_rows(const inlay_layer_spec *spec, const inlay_batch *batch);

/* Returns a view of the array with a row of a table, which may be in extents, and sets the row to its index there. */
inlay_table reference_array(const inlay_table *table, size_t *row);

/* Returns element [row, column] of a table, dequantized. */
float reference_element(const inlay_table *whole, size_t row, size_t column);

/* Writes a row of floats in an output type, rounded to nearest even. */
void reference_put_row(unsigned char *out, inlay_element_type type, const float *row, size_t dim);

/* Reads and writes ids of every type, unaligned. */
int64_t reference_id(const void *ids, inlay_id_type type, size_t i);
void reference_put_id(void *ids, inlay_id_type type, size_t i, int64_t value);
size_t reference_id_bytes(inlay_id_type type);
