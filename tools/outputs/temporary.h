/* SPDX-License-Identifier: MIT */
/*
 * Temporary files, which lie beside their target until they take its place. Signals that end the process by default
 * remove them first.
 */
#pragma once

#include <signal.h>

/** There are at most this many at a time. */
enum { TEMPORARIES_MOST = 4 };

/** Creates target.<process>.<attempt>, which must be new: a name that is there belongs to someone else. Returns the
   open file and its name, or -1 with errno. */
int temporary_create(const char *target, char **name);

/** Leaves what has the name alone from now on, and frees the name. Null is ignored. */
void temporary_forget(char *name);

/** Blocks the signals that remove temporary files. Returns the mask from before, for sigprocmask(). */
sigset_t temporary_block_signals(void);
