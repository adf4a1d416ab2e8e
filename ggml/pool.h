/* SPDX-License-Identifier: MIT */
/*
 * The threads of large calls. Workers sleep in the kernel between calls and never spin, since they would take cores
 * from the layers that follow; and since waking one takes longer than a small call, small calls wake none.
 */
#pragma once

#include <inlay/inlay.h>

/** Threads of one backend. All zeros: none yet. */
struct inlay_ggml_pool {
    void *threads; /**< pthreadpool_t; null: none were needed so far */
    size_t count;  /**< their number, with the thread that calls */
};

/**
 * Makes an executor for an output of that size, and starts threads that are missing.
 *
 * @param pool    the backend's
 * @param wanted  the most threads that the call may use, >= 1
 * @param bytes   of the output
 * @param executor where to write it
 * @return it, or null if the calling thread alone should write the output
 */
const inlay_executor *inlay_ggml_pool_executor(struct inlay_ggml_pool *pool, size_t wanted, size_t bytes,
                                               inlay_executor *executor);

/** Ends the threads. */
void inlay_ggml_pool_end(struct inlay_ggml_pool *pool);
