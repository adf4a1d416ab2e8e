/* SPDX-License-Identifier: MIT */
/**
 * @file inlay.h
 * inlay computes the input layer of Transformers on CPUs: token ids in, vectors ready for the first block out, in one
 * pass over memory.
 *
 *     out = cast(dropout(norm(row * scale + position + segment)))
 *
 * A layer is made once from a table and run for each batch:
 *
 *     const float *weights = ...;                                          // the embedding table [vocab, dim]
 *     const int32_t *ids = ...;                                            // token ids [sequences, length]
 *     float *out = malloc(sequences * length * dim * sizeof(float));       // vectors [sequences, length, dim]
 *
 *     inlay_sinusoid *sinusoid = NULL;                                     // positions by formula
 *     inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(dim);
 *     inlay_status status = inlay_sinusoid_create(&formula, NULL, &sinusoid);
 *
 *     inlay_layer *layer = NULL;
 *     inlay_table tokens = inlay_table_f32(weights, vocab, dim);           // a view: the weights stay yours
 *     inlay_layer_spec spec = inlay_layer_spec_default(&tokens);           // gather alone; every other term is absent
 *     spec.scale = inlay_sqrt_dim(dim);
 *     spec.sinusoid = sinusoid;
 *     if (status == INLAY_OK)
 *         status = inlay_layer_create(&spec, NULL, &layer);
 *
 *     inlay_batch batch = inlay_batch_i32(ids, sequences, length, 0);      // every sequence from position 0 on
 *     inlay_fault fault;                                                   // says which id was bad
 *     if (status == INLAY_OK)                                              // NULL: on this thread alone
 *         status = inlay_forward(layer, &batch, out, dim * sizeof(float), NULL, &fault);
 *     if (status != INLAY_OK)
 *         fprintf(stderr, "%s\n", inlay_status_string(status));            // and out is unchanged
 *     inlay_layer_destroy(layer);
 *     inlay_sinusoid_destroy(sinusoid);
 *
 * Where to read on:
 *
 * - layer.h: the layer, batches and forward; then the plain operations gather, scale and add_positions
 * - ngram.h: hashed n-grams: row ids, and rows of large tables
 * - table.h: tables of float, float16, bfloat16, 8-bit and 4-bit elements; quantising; random tables
 * - positions.h: sinusoids, the recipes of frameworks, rotary tables
 * - base.h: status, fault, the ISA in use, allocators, huge pages, executors (threads)
 *
 * Conventions of every function:
 *
 * - Shapes stand in brackets, the last dimension contiguous: [n, dim]. Sizes count elements; a name that ends in
 *   `_bytes` counts bytes. Rows lie `stride_bytes` apart, which is at least the bytes of one row and need not be a
 *   multiple of anything. No alignment is required of rows, outputs or ids.
 * - All arguments are validated before the first write: a function that returns anything but INLAY_OK has written
 *   nothing to its outputs (a function that creates a handle writes null). It never prints, aborts or changes
 *   errno.
 * - An output must overlap neither an input array, unless the function's comment allows it, nor a handle that the call
 *   reads; otherwise the call returns INLAY_ERROR_OVERLAP. The gaps between rows count as part of an array. Structs
 *   count as inputs only where a comment names them. A call whose output has no rows returns INLAY_OK if its handles,
 *   shapes, strides and enum values are valid. It reads no data, except for the last offset of a ragged batch if that
 *   decides whether there are rows.
 * - Results have the same bits on every ISA and with every compiler, executor and alignment: the product row *
 *   scale is rounded, then each sum is rounded, without fused multiply-add. NaN is the exception: where a result is
 *   NaN it is NaN everywhere, but its sign and payload can differ between ISAs and compilers.
 * - The rounding mode, flush-to-zero and exception masks of the calling thread do not change a result, and calls do not
 *   change them; its sticky exception flags are kept.
 * - Every function may be called from any number of threads at the same time, also on shared handles. Except for
 *   the functions named create and destroy, functions allocate no memory, take no lock and use less than 64 KiB of
 *   stack (in optimised builds). They make no system call either, with two exceptions: functions named huge_pages, and
 *   the first call of all, or inlay_init() before it, which asks the CPU and reads the environment. After inlay_init()
 *   they may be called in a signal handler, except for inlay_forward_explain(). Calls change nothing in a handle but
 *   the atomic variables in which a layer learns its speed, and these change no result.
 * - A handle copies its spec and the structs in it. Of arrays it copies those whose comments say so. The others stay
 *   the caller's and must outlive the handle. All other functions use what they are given during the call alone.
 * - Specs, views, batches and tunings begin with their size, so that later versions can append fields; the
 *   functions named default, and the constructors of views and batches, fill it in. A struct larger than this version
 *   knows is accepted if the unknown rest of it is zero. A size above 1024 is an error. Fields named `reserved`
 *   must be zero.
 */
#ifndef INLAY_INLAY_H
#define INLAY_INLAY_H

#include <inlay/base.h>
#include <inlay/layer.h>
#include <inlay/ngram.h>
#include <inlay/positions.h>
#include <inlay/table.h>

#endif
