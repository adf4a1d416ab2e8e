/* SPDX-License-Identifier: MIT */
/**
 * @file inlay.h
 * inlay computes the input layer of Transformers on CPUs: it turns token ids into the vectors that the first block
 * reads, in one pass over memory.
 *
 *     out = cast(dropout(norm(row * scale + position + segment)))
 *
 * Make a layer from a table once, then run it for each batch:
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
 *     inlay_layer_spec spec = inlay_layer_spec_default(&tokens);           // a plain gather; add terms as needed
 *     spec.scale = inlay_sqrt_dim(dim);
 *     spec.sinusoid = sinusoid;
 *     if (status == INLAY_OK)
 *         status = inlay_layer_create(&spec, NULL, &layer);
 *
 *     inlay_batch batch = inlay_batch_i32(ids, sequences, length, 0);      // positions start at 0
 *     inlay_fault fault;                                                   // names the bad argument
 *     if (status == INLAY_OK)                                              // NULL: single-threaded
 *         status = inlay_forward(layer, &batch, out, dim * sizeof(float), NULL, &fault);
 *     if (status != INLAY_OK)
 *         fprintf(stderr, "%s\n", inlay_status_string(status));            // out is unchanged
 *     inlay_layer_destroy(layer);
 *     inlay_sinusoid_destroy(sinusoid);
 *
 * The headers:
 *
 * - layer.h: the layer, batches, forward and backward; and the separate operations gather, scale and add_positions
 * - ngram.h: hashed n-grams: row ids, and rows of large tables
 * - table.h: tables of float, float16, bfloat16, 8-bit and 4-bit elements; quantization; random tables
 * - positions.h: sinusoids, frameworks' variants of them, rotary tables
 * - base.h: status, fault, ISA selection, allocators, huge pages, executors (threads)
 *
 * Conventions of every function:
 *
 * - Shapes are in brackets, with the last dimension contiguous: [n, dim]. Sizes count elements, except names ending in
 *   `_bytes`. Rows are `stride_bytes` apart: at least the bytes of one row, not necessarily a multiple of anything.
 *   Rows, outputs and ids need no alignment.
 * - All arguments are validated before the first write. If a function doesn't return INLAY_OK, its outputs are
 *   unchanged (functions that create a handle set it to null). No function prints, aborts or changes errno.
 * - An output must not overlap an input array, unless the function documents it, or a handle that the call reads;
 *   otherwise the call returns INLAY_ERROR_OVERLAP. The gaps between rows are part of an array. Structs are checked for
 *   overlap only if the function says so.
 * - A call with no output rows returns INLAY_OK if its handles, shapes, strides and enum values are valid. It reads no
 *   data, except the last offset of a ragged batch if that decides whether there are rows.
 * - Results are bit-identical on every ISA and with every compiler, executor and alignment: row * scale is rounded,
 *   then each sum is rounded, and fused multiply-add is never used. The exception is NaN: a NaN result is NaN
 *   everywhere, but its sign and payload can differ between ISAs and compilers.
 * - The calling thread's rounding mode, flush-to-zero and exception masks don't affect results. Calls don't change them
 *   and preserve the sticky exception flags.
 * - Every function may be called from any number of threads at once, on shared handles too. Except for create and
 *   destroy, functions allocate no memory, take no lock and use less than 64 KiB of stack (in optimized builds).
 * - Calls change nothing in a handle except the atomic variables in which a layer records its timings, which don't
 *   affect results.
 * - Only two kinds of calls make system calls: functions named huge_pages, and the very first call (or inlay_init()),
 *   which detects the CPU and reads the environment. After inlay_init(), all functions are safe in signal handlers,
 *   except create, destroy and inlay_forward_explain().
 * - A handle copies its spec and the structs in it, and those arrays that are documented as copied. All other arrays
 *   stay yours and must outlive the handle. Other functions use their arguments only during the call.
 * - Specs, views, batches and tunings begin with their size, so later versions can append fields. Functions named
 *   default and the constructors of views and batches fill it in. A larger struct than this version's is accepted if
 *   the unknown rest is zero; a size above 1024 is an error. Fields named `reserved` must be zero.
 */
#ifndef INLAY_INLAY_H
#define INLAY_INLAY_H

#include <inlay/base.h>
#include <inlay/layer.h>
#include <inlay/ngram.h>
#include <inlay/positions.h>
#include <inlay/table.h>

#endif
