/* SPDX-License-Identifier: MIT */
/*
 * The clock of stopwatch.h, which no one can set back.
 */
#define _POSIX_C_SOURCE 200809L
#include "stopwatch.h"

#include <time.h>

double stopwatch_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
