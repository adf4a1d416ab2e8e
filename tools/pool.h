/* SPDX-License-Identifier: MIT */
/*
 * A small pool of POSIX threads that runs the parts of a call: an executor for the library. Included by what has
 * --threads, and by the benchmark harness. It knows nothing of tables or tokens.
 */
#ifndef INLAY_TOOL_POOL_H
#define INLAY_TOOL_POOL_H

#include <stddef.h>

#include <inlay/inlay.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pool;

/** The caller of a job works too: threads - 1 are started, threads >= 1. Null where the system has none left. */
struct pool *pool_create(size_t threads);

/** Null is ignored. No job may run. */
void pool_destroy(struct pool *pool);

/** Any thread may use it, one job at a time; a task may not start another job. Valid until the pool is destroyed. */
inlay_executor pool_executor(struct pool *pool);

#ifdef __cplusplus
}
#endif

#endif
