/* SPDX-License-Identifier: MIT */
/**
 * @file inlay.h
 * inlay computes the input layer of Transformers on CPUs: it turns token ids into the input vectors of the first block,
 * in one pass over memory.
 *
 *     out = cast(dropout(norm(row * scale + position + segment)))
 *
 * Make a layer from a table once, then run it on each batch:
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
 *     if (status == INLAY_OK)                                              // NULL below: no thread pool
 *         status = inlay_forward(layer, &batch, out, dim * sizeof(float), NULL, &fault);
 *     if (status != INLAY_OK)
 *         fprintf(stderr, "%s\n", inlay_status_string(status));            // out is unchanged
 *     inlay_layer_destroy(layer);
 *     inlay_sinusoid_destroy(sinusoid);
 *
 * The headers:
 *
 * - layer.h: the layer, batches, forward and backward; also the separate operations gather, scale and add_positions
 * - ngram.h: hashed n-gram embeddings, and the row ids that the hashes select
 * - table.h: tables of float32, float16, bfloat16 and 8-bit to 2-bit elements; quantization; random tables
 * - positions.h: sinusoids, the variants that frameworks compute, rotary tables
 * - rotary.h: rotary positions, applied to queries and keys
 * - base.h: status, fault, ISA selection, allocators, huge pages, executors (threads)
 *
 * Conventions of every function:
 *
 * - Shapes are in brackets, e.g. [n, dim]. The last dimension is contiguous. Sizes count elements. The `size` of a
 *   struct counts bytes, and so do sizes with names that end in `_bytes`. Rows are `stride_bytes` apart. A stride is at
 *   least the size of one row and need not be a multiple of anything. Rows, outputs and ids need no alignment.
 * - All arguments are validated before the first write. If a function doesn't return INLAY_OK, its outputs are
 *   unchanged, except that create functions set the handle to null. No function prints, aborts or changes errno.
 * - An output must not overlap a handle that the call reads. It must not overlap an input array either, unless the
 *   function documents that it may. A forbidden overlap returns INLAY_ERROR_OVERLAP. An array includes the gaps between
 *   its rows. Structs are checked for overlap only where a function's documentation says so.
 * - A call without output rows returns INLAY_OK if its handles, shapes, strides and enum values are valid. It reads no
 *   data, with one exception: for INLAY_LENGTH_FROM_OFFSETS it reads the last offset, to count the rows.
 * - Results are bit-identical on every ISA and with every compiler, executor and alignment: row * scale is rounded,
 *   then each sum is rounded, without fused multiply-add. The only exception is the sign and payload of a NaN, which
 *   can differ between ISAs and compilers.
 * - The calling thread's rounding mode, flush-to-zero and exception masks don't affect results. Calls leave them and
 *   the sticky exception flags unchanged.
 * - Any number of threads may call any function at once, even on shared handles. Only destroy must wait until no call
 *   uses the handle. Functions other than create and destroy allocate no memory, take no lock and use less than 64 KiB
 *   of stack (in optimized builds).
 * - Calls change nothing in a handle, except that a layer records timings in atomic variables. Timings don't affect
 *   results.
 * - inlay_init() detects the CPU and reads the environment. If you don't call it, the first call that depends on the
 *   CPU does both. inlay_layer_create() also reads INLAY_SELF_TUNING. After inlay_init(), only `inlay_huge_pages_*` and
 *   allocators make system calls, and all functions except create, destroy and inlay_forward_explain() are
 *   async-signal-safe.
 * - A handle copies its spec, the structs in it, and the arrays that are documented as copied. All other arrays stay
 *   yours and must outlive the handle. Functions that don't create a handle use their arguments only during the call.
 * - Specs, views, batches and tunings begin with their size. This lets later versions append fields. The `*_default`
 *   functions and the constructors of views and batches set the size. A struct larger than in this version is accepted
 *   if the bytes past the known fields are zero. A size above 1024 is an error. Fields named `reserved` must be zero.
 */
#ifndef INLAY_INLAY_H
#define INLAY_INLAY_H

#include <inlay/base.h>
#include <inlay/layer.h>
#include <inlay/ngram.h>
#include <inlay/positions.h>
#include <inlay/rotary.h>
#include <inlay/table.h>

#endif
