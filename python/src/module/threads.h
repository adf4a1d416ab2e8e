/* SPDX-License-Identifier: MIT */
/*
 * The package's threads: an executor for large calls. Workers start on first use and never call Python. After a fork,
 * they start again in the child. A call runs on its own thread if the workers are busy.
 */
#pragma once

#include "abi.h"

#include <inlay/base.h>

#include <stdbool.h>

/* Maximum number of threads of a call. */
enum { MAX_THREADS = 1024 };

/* Output sizes from which a call takes much longer than releasing the GIL, and from which a second thread helps. Two
   threads take 1.2 to 1.4 times as long as one for 0.2 to 0.5 MiB, and 0.7 times as long for 1.5 MiB (Zen 4). */
enum { THREADS_LARGE_BYTES = 128 << 10, THREADS_SHARED_BYTES = 1 << 20 };

/* Return and set the default number of threads of a call, in [1, MAX_THREADS]. Initially 1. */
size_t threads_get(void);
void threads_set(size_t n);

/* Fills in an executor of `n` threads including the caller, or fewer if the system has no more. Starts missing workers.
   Returns null for one thread. Needs no GIL. */
const inlay_executor *threads_executor(size_t n, inlay_executor *executor);

/* Returns the executor of a call that transfers `bytes`, with `own` threads, or the default number if `own` is 0. Null
   if one thread is faster. */
static inline const inlay_executor *threads_for(size_t bytes, size_t own, inlay_executor *executor)
{
    return bytes >= THREADS_SHARED_BYTES ? threads_executor(own > 0 ? own : threads_get(), executor) : NULL;
}

/* Sets *threads as threads_for() does, and releases the GIL if the call is large or `waits` for the disk. Pass the
   result to threads_restore_gil(). */
static inline PyThreadState *threads_release_gil(size_t bytes, size_t own, bool waits, inlay_executor *executor,
                                                 const inlay_executor **threads)
{
    *threads = threads_for(bytes, own, executor);
    return bytes >= THREADS_LARGE_BYTES || waits ? PyEval_SaveThread() : NULL;
}

static inline void threads_restore_gil(PyThreadState *state)
{
    if (state != NULL)
        PyEval_RestoreThread(state);
}

/* Makes threads work after fork(). Call it once, before the others. */
void threads_init(void);
