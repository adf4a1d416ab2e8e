/* SPDX-License-Identifier: MIT */
/*
 * Errors of the command, each one line on stderr: "inlay embed: what is wrong: how to correct it". For every
 * file that can fail for a reason that concerns the user. Strings of the user's go through shown(), never raw.
 */
#pragma once

#include <stddef.h>

#include <inlay/inlay.h>

/** What the process, or a step of it, came to. Steps return it, so that `return failed(...)` says all. */
enum outcome {
    HELPED = -1, /**< help has been printed instead, which is a success */
    DONE = 0,
    FAILED = 1, /**< the world does not allow it: files, memory, values in them */
    MISUSED = 2 /**< the command line is wrong by itself */
};

/** Makes messages begin with "inlay" and the name of the command, which must outlive them. */
void message_name(const char *name);

/** Prints a message. Returns `outcome`. */
int message(enum outcome outcome, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Print a message. The outcome is in the name. */
#define failed(...) message(FAILED, __VA_ARGS__)
#define misused(...) message(MISUSED, __VA_ARGS__)

/** Leaves the calling function with the outcome of a step that is not DONE. Only where nothing is left to close. */
#define TRY(step)                                                                                                      \
    do {                                                                                                               \
        int outcome_of_step = (step);                                                                                  \
        if (outcome_of_step != DONE)                                                                                   \
            return outcome_of_step;                                                                                    \
    } while (0)

/** Ends the process with FAILED and a message that `what`, which takes `bytes`, does not fit in memory. */
_Noreturn void out_of_memory(const char *what, double bytes);

/** Returns zeroed memory for `count` elements of `bytes` each, and never null: without memory it ends the process, with
    a message that names `what`. The memory can be kept until the process ends. */
void *xcalloc(size_t count, size_t bytes, const char *what);

/** Returns memory of another size with what `memory`, which may be null, has in it, as xcalloc() does. */
void *xrealloc(void *memory, size_t bytes, const char *what);

/**
 * The user's text in quotes, with control characters and invalid UTF-8 escaped and a long tail cut: fit for one line
 * on a terminal. Lives until shown or escaped have been called four more times.
 */
const char *shown(const char *text);

/** The same of text [size], without quotes. */
const char *escaped(const char *text, size_t size);

/** Returns the bytes of the first characters of text [size]; bytes that are not UTF-8 count as one character each. */
size_t leading_bytes(const char *text, size_t size, size_t characters);

/** Appends formatted text to text [size], as much as fits. */
void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** DONE for INLAY_OK; otherwise FAILED, with the library's sentence as the message. */
int check_status(inlay_status status);
