/* SPDX-License-Identifier: MIT */
/*
 * The threads of --threads N, as an executor. pthreadpool runs them; a build without it has one thread.
 */
#pragma once

#include <stdint.h>

#include <inlay/inlay.h>

enum { THREADS_MOST = 1024 };

/** The library that runs threads, or "none". */
extern const char threads_library[];

/** Starts n - 1 threads beside the caller's, once in a process, which ends them. *executor stays null for n = 1.
   FAILED, with a message, where the system does not start as many. */
int threads_start(int64_t n, const inlay_executor **executor);
