/* SPDX-License-Identifier: MIT */
/*
 * Work in parts, run by the caller's executor or, without one, by the calling thread. No two parts write the same
 * memory.
 */
#pragma once

#include <inlay/inlay.h>

/* Handing a part to another thread takes a few us; writing the part should take longer. */
enum { INLAY_PART_BYTES = 64 * 1024, INLAY_PARTS_PER_THREAD = 4 };

/* Returns INLAY_OK for a valid executor, INLAY_ERROR_NULL without a run function and INLAY_ERROR_OPTION without
   threads, with the fault, which may be null. */
inlay_status inlay_check_given_executor(const inlay_executor *executor, inlay_fault *fault);

/* Same for an executor that may be null, after the checks `before`. Inlined, since small calls have none. */
static inline inlay_status inlay_check_executor(inlay_status before, const inlay_executor *executor, inlay_fault *fault)
{
    return before == INLAY_OK && executor != NULL ? inlay_check_given_executor(executor, fault) : before;
}

/* Returns the number of parts for work that writes `bytes`; no part is too small for a thread. */
size_t inlay_parts_for_executor(const inlay_executor *executor, size_t bytes);

/* Same for an executor that may be null: then there is one part. */
static inline size_t inlay_parts(const inlay_executor *executor, size_t bytes)
{
    return executor != NULL ? inlay_parts_for_executor(executor, bytes) : 1;
}

/*
 * Returns the start of share `index` when `total` is split into `parts` shares that differ by at most one; share
 * `parts` starts at `total`. No intermediate value exceeds `total`: total * index / parts would overflow a 32-bit
 * size_t for 2^23 blocks in 512 parts.
 */
static inline size_t inlay_share_begin(size_t total, size_t parts, size_t index)
{
    size_t each = total / parts, larger = total % parts; /* the first `larger` shares have one more */
    return index * each + (index < larger ? index : larger);
}

/* Calls task(arg, i) for every i in [0, count). */
void inlay_run_parts(const inlay_executor *executor, size_t count, void (*task)(void *arg, size_t index), void *arg);
