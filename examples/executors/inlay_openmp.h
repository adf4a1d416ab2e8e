/* SPDX-License-Identifier: MIT */
/* OpenMP as an executor of inlay. Copy this file, and compile the files that include it with -fopenmp. */
#ifndef INLAY_EXAMPLE_OPENMP_H
#define INLAY_EXAMPLE_OPENMP_H

#include <inlay/inlay.h>
#include <omp.h>

static inline void inlay_openmp_run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    /* Static: in repeated calls a thread gets the same parts, whose data may still be in its cache. */
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

/* Returns an executor with as many threads as OpenMP gives a parallel region of the calling thread. Inside another
   parallel region that is usually one. */
static inline inlay_executor inlay_executor_openmp(void)
{
    inlay_executor executor;
    executor.ctx = NULL;
    executor.run = inlay_openmp_run;
    executor.threads = (size_t)omp_get_max_threads();
    return executor;
}

#endif
