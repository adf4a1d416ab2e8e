/* SPDX-License-Identifier: MIT */
/*
 * The threads of --threads N, as an executor. pthreadpool runs them; a build without it has one thread.
 */
#pragma once

#include <stdint.h>

#include <inlay/inlay.h>

enum { THREADS_MOST = 1024 };

struct threads {
    void *pool; /**< a pthreadpool_t */
    inlay_executor pooled;
    const inlay_executor *executor; /**< null for one thread */
};

/** The library that runs threads, or "none". */
extern const char threads_library[];

/** Starts n - 1 threads beside the caller's. *threads is zero before, and the caller stops it in any case. FAILED, with
    a message, where the system does not start as many. */
int threads_start(struct threads *threads, int64_t n);

/** Ends the threads. */
void threads_stop(struct threads *threads);
