/* SPDX-License-Identifier: MIT */
/*
 * What the suites need of the operating system: pages that nothing may read or write, variables, folders, processes,
 * stacks, timers and traps. system_posix.c or system_windows.c has them; what a system lacks is an answer, never
 * silence. Helpers that cannot do their work abort.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns the bytes of a page. */
size_t page_bytes(void);

/* Reserves whole pages of address space; reading or writing them ends the process. */
void *pages_reserve(size_t bytes);

/* Turns reserved pages into zeros that may be read and written. */
void pages_open(void *at, size_t bytes);

/* Releases all that one call of pages_reserve() returned. */
void pages_release(void *reserved, size_t bytes);

/* Returns zeros that the processes of run_processes(), and those of check's tests, have in common. */
void *memory_shared(size_t bytes);

/* Sets a variable of the environment, or removes it for null. */
void variable_set(const char *name, const char *value);

/* Runs work(arg) in processes, or once in this one where the system does not fork. Calls watch(arg, false) some times a
   second meanwhile, and watch(arg, true) for each process that a signal ended. Returns whether all returned true. */
bool run_processes(int processes, bool (*work)(void *arg), void (*watch)(void *arg, bool died), void *arg);

/* Returns whether standard error is a terminal. */
bool errors_are_watched(void);

/* Calls a function on a stack of its own, between begin and end. */
void call_on_stack(unsigned char *begin, const unsigned char *end, void (*function)(void));

/* Calls a handler in the midst of this thread once after some time. Returns false where there are no such signals. */
bool interrupt_after(unsigned microseconds, void (*handler)(int));

/* Lets all floating-point exceptions trap, and no more. The first returns false where this CPU traps none. */
bool traps_enable(void);
bool traps_are_enabled(void);
void traps_disable(void);
