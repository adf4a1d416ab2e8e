/* SPDX-License-Identifier: MIT */
/*
 * Error messages, one line on stderr: "inlay embed: the problem: the fix". Print the user's strings through shown(),
 * never raw.
 */
#pragma once

#include <stddef.h>

#include <inlay/inlay.h>

/** The outcome of the process, or of a step. Steps return it: `return failed(...)`. */
enum outcome {
    HELPED = -1, /**< help was printed, a success */
    DONE = 0,
    FAILED = 1, /**< a runtime error: files, memory, values in files */
    MISUSED = 2 /**< the command line is invalid */
};

/** Makes messages begin with "inlay" and the name of the command. The name is not copied. */
void message_name(const char *name);

/** Prints a message. Returns `outcome`. */
int message(enum outcome outcome, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Print a message and return FAILED or MISUSED. */
#define failed(...) message(FAILED, __VA_ARGS__)
#define misused(...) message(MISUSED, __VA_ARGS__)

/** If a step's outcome is not DONE, returns it from the calling function. Use this only if nothing has to be closed. */
#define TRY(step)                                                                                                      \
    do {                                                                                                               \
        int outcome_of_step = (step);                                                                                  \
        if (outcome_of_step != DONE)                                                                                   \
            return outcome_of_step;                                                                                    \
    } while (0)

/** Prints that `what`, of `bytes` bytes, doesn't fit in memory, and ends the process with FAILED. */
_Noreturn void out_of_memory(const char *what, double bytes);

/** Returns zeroed memory for `count` elements of `bytes` each, never null. If allocation fails, ends the process with a
    message about `what`. The memory need not be freed. */
void *xcalloc(size_t count, size_t bytes, const char *what);

/** Resizes `memory`, which may be null, with the same error handling as xcalloc(). */
void *xrealloc(void *memory, size_t bytes, const char *what);

/**
 * Returns the user's text in quotes, for one line on a terminal: control characters and invalid UTF-8 are escaped, and
 * long text is truncated. The result stays valid during the next three calls of shown() or escaped().
 */
const char *shown(const char *text);

/** Does the same for text [size], without quotes. */
const char *escaped(const char *text, size_t size);

/** Returns the size in bytes of the first characters of text [size]. Invalid UTF-8 counts one character per byte. */
size_t leading_bytes(const char *text, size_t size, size_t characters);

/** Appends formatted text to text [size], truncated if necessary. */
void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Returns DONE for INLAY_OK; otherwise prints the library's message and returns FAILED. */
int check_status(inlay_status status);

/** Returns DONE for INLAY_OK; otherwise prints the argument and the reason of the fault, and returns FAILED. */
int check_fault(inlay_status status, const inlay_fault *fault);
