/* SPDX-License-Identifier: MIT */
/*
 * Threads for large calls. Workers sleep in the kernel between calls and never spin, since that would take cores from
 * the layers that follow. Waking a worker takes longer than a small call, so small calls use none.
 */
#pragma once

#include <inlay/inlay.h>

/** Threads of one backend. All zeros: none started yet. */
struct inlay_ggml_pool {
    void *threads; /**< pthreadpool_t; null: not started yet */
    size_t count;  /**< threads, including the caller's */
};

/**
 * Makes an executor for an output of `bytes`, starting threads as needed.
 *
 * @param pool     the backend's
 * @param wanted   maximum number of threads, >= 1
 * @param bytes    of the output
 * @param executor receives the executor
 * @return executor, or null if the calling thread alone should write the output
 */
const inlay_executor *inlay_ggml_pool_executor(struct inlay_ggml_pool *pool, size_t wanted, size_t bytes,
                                               inlay_executor *executor);

/** Stops the threads. */
void inlay_ggml_pool_end(struct inlay_ggml_pool *pool);
