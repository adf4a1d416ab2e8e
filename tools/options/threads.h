/* SPDX-License-Identifier: MIT */
/*
 * The threads of --threads N, as an executor. pthreadpool runs them. Without it, a build is single-threaded.
 */
#pragma once

#include <stdint.h>

#include <inlay/inlay.h>

enum { MAX_THREADS = 1024 };

/** The thread library, or "none". */
extern const char threads_library[];

/** Starts n - 1 threads in addition to the caller's. Call it once per process; the threads end with the process. If n
    is 1, *executor stays null. Returns FAILED, with a message, if the system can't start n - 1 threads. */
int threads_start(int64_t n, const inlay_executor **executor);
