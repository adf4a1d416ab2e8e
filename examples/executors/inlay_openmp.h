/* SPDX-License-Identifier: MIT */
/* OpenMP as an inlay_executor. Copy this file, and compile with -fopenmp where you include it. */
#ifndef INLAY_EXAMPLE_OPENMP_H
#define INLAY_EXAMPLE_OPENMP_H

#include <inlay/inlay.h>
#include <omp.h>

static inline void inlay_openmp_run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    /* Static: repeated calls give a thread the same parts, whose data may still be in its cache. */
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

/* Returns an executor with as many threads as OpenMP would use for a parallel region here. Inside another parallel
   region that is usually one. */
static inline inlay_executor inlay_executor_openmp(void)
{
    inlay_executor executor;
    executor.ctx = NULL;
    executor.run = inlay_openmp_run;
    executor.threads = (size_t)omp_get_max_threads();
    return executor;
}

#endif
