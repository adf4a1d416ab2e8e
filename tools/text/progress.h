/* SPDX-License-Identifier: MIT */
/*
 * A clock, and a progress line on stderr. The line is shown only on a terminal, and only if the work takes long.
 */
#pragma once

#include <stdbool.h>

/** Returns seconds of a monotonic clock. */
double seconds_now(void);

struct progress {
    const char *what; /**< e.g. "computing" */
    bool terminal;
    bool visible;
    double next; /**< time of the next update */
};

/** Starts timing some work. */
struct progress progress_start(const char *what);

/** Shows the fraction of the work that is done, in [0, 1]. Cheap if no update is due. */
void progress_show(struct progress *progress, double part);

/** Clears the line. */
void progress_end(struct progress *progress);
