/* SPDX-License-Identifier: MIT */
/*
 * Prints the progress line after half a second, then ten times a second. The line is overwritten with spaces, because
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
    return (struct progress){.what = what, .terminal = terminal, .next = seconds_now() + 0.5};
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

void progress_end(struct progress *progress)
{
    if (progress->visible)
        fprintf(stderr, "%*s\r", (int)strlen(progress->what) + 8, "");
    progress->visible = false;
}
