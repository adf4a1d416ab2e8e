/* SPDX-License-Identifier: MIT */
/*
 * Operating system services for the suites: inaccessible pages, variables, folders, processes, stacks, timers and
 * traps. Implemented in system_posix.c or system_windows.c; missing features are reported. Helpers abort on failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns the page size in bytes. */
size_t page_bytes(void);

/* Reserves whole pages of address space; reading or writing them ends the process. */
void *pages_reserve(size_t bytes);

/* Makes reserved pages readable and writable zeros. */
void pages_open(void *at, size_t bytes);

/* Releases the whole result of a call of pages_reserve(). */
void pages_release(void *reserved, size_t bytes);

/* Returns zeros shared by the processes of run_processes(), and by those of check's tests. */
void *memory_shared(size_t bytes);

/* Sets an environment variable, or removes it for null. */
void variable_set(const char *name, const char *value);

/* Runs work(arg) in processes, or once in this one if the system can't fork. Meanwhile calls watch(arg, false) a few
   times a second, and watch(arg, true) for each process ended by a signal. Returns true if all returned true. */
bool run_processes(int processes, bool (*work)(void *arg), void (*watch)(void *arg, bool died), void *arg);

/* Returns true if standard error is a terminal. */
bool errors_are_watched(void);

/* Calls a function on a separate stack, between begin and end. */
void call_on_stack(unsigned char *begin, const unsigned char *end, void (*function)(void));

/* Interrupts this thread once after some time, to call a handler. Returns false if there are no such signals. */
bool interrupt_after(unsigned microseconds, void (*handler)(int));

/* Enables exactly all floating-point traps. The first function returns false if this CPU has none. */
bool traps_enable(void);
bool traps_are_enabled(void);
void traps_disable(void);
