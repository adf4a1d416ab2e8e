/* SPDX-License-Identifier: MIT */
/*
 * A line of progress on stderr, only where that is a terminal and only once the work turns out to be long.
 */
#ifndef INLAY_TOOL_PROGRESS_H
#define INLAY_TOOL_PROGRESS_H

#include <stdbool.h>

struct progress {
    bool terminal;
    bool visible;
    double next; /**< when the line is due again */
};

void progress_start(struct progress *progress);

/** Shows that a part in [0, 1] of the work is done. Cheap where nothing is due. */
void progress_show(struct progress *progress, double part);

/** Takes the line away, so that what follows begins at the left. */
void progress_end(struct progress *progress);

#endif
