/* SPDX-License-Identifier: MIT */
/*
 * The threads of the package: an executor for calls that are large enough. Workers are started when they are first
 * needed, never touch Python, and are started again in the child of a fork. A call that finds the workers busy with
 * another one runs on its own thread alone.
 */
#pragma once

#include "abi.h"

#include <inlay/base.h>

#include <stdbool.h>

/* The most threads that a call may use. */
enum { THREADS_MOST = 1024 };

/* From outputs of this size on a call takes much longer than releasing the GIL, or waking up a thread. */
enum { THREADS_LARGE_BYTES = 128 << 10 };

/* Returns how many threads a call uses that has no number of its own; 1 at first. */
size_t threads_get(void);

/* Sets it; n is in [1, THREADS_MOST]. */
void threads_set(size_t n);

/* Fills in an executor of `n` threads, the calling one included, and starts the workers that it lacks; fewer threads
   if the system has no more. Returns null for one thread. Needs no GIL. */
const inlay_executor *threads_executor(size_t n, inlay_executor *executor);

/* Releases the GIL for a call that writes or reads that many bytes, if it takes much longer than that or waits for the
   disk. Fills in the executor of a large one, of `own` threads or, for 0, those of the package; *threads is null for
   one thread. Returns what threads_restore_gil() takes. */
static inline PyThreadState *threads_release_gil(size_t bytes, size_t own, bool waits, inlay_executor *executor,
                                                 const inlay_executor **threads)
{
    const bool large = bytes >= THREADS_LARGE_BYTES;
    *threads = large ? threads_executor(own > 0 ? own : threads_get(), executor) : NULL;
    return large || waits ? PyEval_SaveThread() : NULL;
}

static inline void threads_restore_gil(PyThreadState *state)
{
    if (state != NULL)
        PyEval_RestoreThread(state);
}

/* Makes the workers survive fork(). To be called once, before the others. */
void threads_init(void);
