/* SPDX-License-Identifier: MIT */
/*
 * Work in parts, run by the caller's executor or, if there is none, by the calling thread. Parts share nothing that
 * they write.
 */
#pragma once

#include <inlay/inlay.h>

/* A part that another thread takes should write for longer than handing it over takes, which is a few us. */
enum { INLAY_PART_BYTES = 64 * 1024, INLAY_PARTS_PER_THREAD = 4 };

/* Returns the status of the checks before if that is an error, else INLAY_OK for null and for an executor that has a
   function and threads; INLAY_ERROR_NULL for one without a function, INLAY_ERROR_OPTION for one without threads. */
inlay_status inlay_check_executor(inlay_status before, const inlay_executor *executor);

/* Returns into how many parts work that writes `bytes` is cut: one without an executor; none too small for a thread. */
size_t inlay_parts(const inlay_executor *executor, size_t bytes);

/*
 * Returns where share `index` of `parts` begins when `total` is cut into shares that differ by at most one; share
 * `parts` begins at `total`. No intermediate value exceeds `total`. The formula total * index / parts would overflow a
 * size_t of 32 bits for 2^23 blocks in 512 parts.
 */
static inline size_t inlay_share_begin(size_t total, size_t parts, size_t index)
{
    size_t each = total / parts, larger = total % parts; /* the first `larger` shares have one more */
    return index * each + (index < larger ? index : larger);
}

/* Calls task(arg, i) for every i in [0, count). */
void inlay_run_parts(const inlay_executor *executor, size_t count, void (*task)(void *arg, size_t index), void *arg);
