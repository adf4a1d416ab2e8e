/* SPDX-License-Identifier: MIT */
/*
 * Time, and a line of progress on stderr: only where that is a terminal, and only once the work turns out to be long.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <inlay/inlay.h>

/** Returns seconds since some fixed moment, by a clock that nobody can set. */
double seconds_now(void);

struct progress {
    const char *what; /**< such as "computing" */
    bool terminal;
    bool visible;
    double next;      /**< when the line is due again */
    pthread_t caller; /**< the thread that shows it */

    /* Of a call of the library that is watched. */
    const inlay_executor *inner;
    inlay_executor watched;
    void (*task)(void *arg, size_t index);
    void *arg;
    size_t parts;
    atomic_size_t done;
};

/** Starts the clock of a piece of work. */
struct progress progress_start(const char *what);

/** Shows that a part in [0, 1] of the work is done. Cheap where nothing is due. */
void progress_show(struct progress *progress, double part);

/** Returns an executor that runs the parts of one call on `inner` (null: the calling thread) and shows how many are
    done: it has the call cut into many parts. Where nothing is shown, that is `inner` itself. */
const inlay_executor *progress_executor(struct progress *progress, const inlay_executor *inner);

/** Clears the line, so that what follows begins at the left. */
void progress_end(struct progress *progress);
