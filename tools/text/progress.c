/* SPDX-License-Identifier: MIT */
/*
 * The line of progress.h: first after half a second, then ten times a second. It is overwritten with spaces, because
 * not every terminal supports escape sequences.
 */
#include "text/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct progress progress_start(const char *what)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    return (struct progress){.what = what, .terminal = terminal, .next = seconds_now() + 0.5, .caller = pthread_self()};
}

void progress_show(struct progress *progress, double part)
{
    if (!progress->terminal || seconds_now() < progress->next)
        return;
    /* The cursor returns immediately, so a following error message starts at the left. */
    fprintf(stderr, "%s %5.1f %%\r", progress->what, 100 * part);
    progress->visible = true;
    progress->next = seconds_now() + 0.1;
}

static void run_part(void *ctx, size_t index)
{
    struct progress *progress = ctx;
    progress->task(progress->arg, index);
    size_t done = atomic_fetch_add(&progress->done, 1) + 1;
    if (pthread_equal(pthread_self(), progress->caller))
        progress_show(progress, (double)done / (double)progress->parts);
}

static void run_parts(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    struct progress *progress = ctx;
    const inlay_executor *inner = progress->inner;
    progress->task = task;
    progress->arg = arg;
    progress->parts = count;
    if (inner != NULL)
        inner->run(inner->ctx, count, run_part, progress);
    for (size_t i = 0; inner == NULL && i < count; i++)
        run_part(progress, i);
}

const inlay_executor *progress_executor(struct progress *progress, const inlay_executor *inner)
{
    enum { PARTS = 256 };
    progress->inner = inner;
    progress->watched = (inlay_executor){progress, run_parts, PARTS};
    return progress->terminal ? &progress->watched : inner;
}

void progress_end(struct progress *progress)
{
    if (progress->visible)
        fprintf(stderr, "%*s\r", (int)strlen(progress->what) + 8, "");
    progress->visible = false;
}
