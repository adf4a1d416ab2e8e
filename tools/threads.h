/* SPDX-License-Identifier: MIT */
/*
 * What --threads N asks for: an executor of N threads, or none. Included by the subcommands that have the option.
 */
#ifndef INLAY_TOOL_THREADS_H
#define INLAY_TOOL_THREADS_H

#include <stdint.h>

#include <inlay/inlay.h>

#include "pool.h"

enum { THREADS_MOST = 1024 };

struct threads {
    struct pool *pool;
    inlay_executor pooled;
    const inlay_executor *executor; /**< null for one thread */
};

/** Starts threads - 1 beside the caller's. *threads is zero before, and the caller stops it in any case. */
int threads_start(struct threads *threads, int64_t n);

void threads_stop(struct threads *threads);

#endif
