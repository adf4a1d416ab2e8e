/* SPDX-License-Identifier: MIT */
/*
 * The line of progress.h: first after half a second, then ten times a second. Overwritten with blanks rather than by
 * escape sequences, which not every terminal knows.
 */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "stopwatch.h"

void progress_start(struct progress *progress)
{
    *progress = (struct progress){isatty(STDERR_FILENO) == 1, false, stopwatch_now() + 0.5};
}

void progress_show(struct progress *progress, double part)
{
    if (!progress->terminal || stopwatch_now() < progress->next)
        return;
    /* The cursor goes back at once, so that an error message that comes next begins at the left. */
    fprintf(stderr, "%5.1f %%\r", 100 * part);
    progress->visible = true;
    progress->next = stopwatch_now() + 0.1;
}

void progress_end(struct progress *progress)
{
    if (progress->visible)
        fprintf(stderr, "%*s\r", 8, "");
    progress->visible = false;
}
