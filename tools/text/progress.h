/* SPDX-License-Identifier: MIT */
/*
 * Time, and a progress line on stderr. It is shown only on a terminal, and only if the work takes long.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <inlay/inlay.h>

/** Returns seconds of a monotonic clock. */
double seconds_now(void);

struct progress {
    const char *what; /**< e.g. "computing" */
    bool terminal;
    bool visible;
    double next;      /**< time of the next update */
    pthread_t caller; /**< the thread that shows it */

    /* For a call of the library. */
    const inlay_executor *inner;
    inlay_executor watched;
    void (*task)(void *arg, size_t index);
    void *arg;
    size_t parts;
    atomic_size_t done;
};

/** Starts timing some work. */
struct progress progress_start(const char *what);

/** Shows the fraction of the work done, in [0, 1]. Cheap if no update is due. */
void progress_show(struct progress *progress, double part);

/** Returns an executor that runs the parts of one call on `inner` (null: the calling thread) and shows how many are
    done. It requests many parts. If no progress is shown, returns `inner`. */
const inlay_executor *progress_executor(struct progress *progress, const inlay_executor *inner);

/** Clears the line. */
void progress_end(struct progress *progress);
