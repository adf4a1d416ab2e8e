/* SPDX-License-Identifier: MIT */
/*
 * Monotonic time. Included by whatever measures or reports progress.
 */
#ifndef INLAY_TOOL_STOPWATCH_H
#define INLAY_TOOL_STOPWATCH_H

/** Seconds since some fixed moment. */
double stopwatch_now(void);

#endif
