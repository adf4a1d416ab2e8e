/* SPDX-License-Identifier: MIT */
/*
 * Running work in parts.
 */
#include "base/executor.h"

#include "base/arguments.h"

inlay_status inlay_check_given_executor(const inlay_executor *executor, inlay_fault *fault)
{
    if (executor->run == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, "executor", "its run is null");
    return executor->threads > 0 ? INLAY_OK : inlay_blame(fault, INLAY_ERROR_OPTION, "executor", "its threads is 0");
}

size_t inlay_parts_for_executor(const inlay_executor *executor, size_t bytes)
{
    if (executor->threads == 1)
        return 1;
    size_t worth = bytes / INLAY_PART_BYTES, most = executor->threads;
    /* Large work has more parts than threads, so late or slow threads can leave some of theirs to others. */
    if (worth / INLAY_PARTS_PER_THREAD > most)
        most = most <= SIZE_MAX / INLAY_PARTS_PER_THREAD ? most * INLAY_PARTS_PER_THREAD : most;
    size_t parts = worth < most ? worth : most;
    return parts > 0 ? parts : 1;
}

void inlay_run_parts(const inlay_executor *executor, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    if (executor != NULL && count > 1) {
        executor->run(executor->ctx, count, task, arg);
        return;
    }
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}
