/* SPDX-License-Identifier: MIT */
/*
 * Temporary files, which lie beside their target until they take its place. Signals that end the process by default
 * remove them first.
 */
#pragma once

#include <signal.h>

/** There are at most this many at a time. */
enum { TEMPORARIES_MOST = 4 };

/** The bytes of the longest path that a system call takes, and of the name of a temporary file beside it. */
enum { PATH_BYTES = 4096, TEMPORARY_BYTES = PATH_BYTES + 40 };

/** Creates target.<process>.<attempt>, which must be new: a name that is there belongs to someone else. Returns the
   open file, or -1 with errno and an empty name. The name is where it is until it is forgotten. */
int temporary_create(const char *target, char name[TEMPORARY_BYTES]);

/** Leaves what has the name alone from now on. */
void temporary_forget(const char *name);

/** Blocks the signals that remove temporary files. Returns the mask from before, for sigprocmask(). */
sigset_t temporary_block_signals(void);
