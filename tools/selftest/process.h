/* SPDX-License-Identifier: MIT */
/*
 * The checks of `inlay selftest` as one list, counted from 0, and the processes that run them: one for each ISA, since
 * a process has one ISA for its life. The caller must not have used the library but for inlay_isa_at().
 */
#pragma once

#include <sys/types.h>

#include "selftest/check.h"

/** What a check came to on an ISA. */
struct result {
    uint64_t hash;
    char fault[TRIAL_FAULT_BYTES + 80]; /**< empty: none */
};

/** Returns the number of checks. */
size_t count_checks(void);

/** Returns the name of a check, which lives until the next call. */
const char *check_name(size_t check);

/** A child process that runs checks. */
struct child {
    pid_t pid;
    FILE *pipe; /**< what it writes: a struct result for each check, or the bytes that they hash */
};

/** The bytes of a text that says how a child ended. */
enum { END_BYTES = 120 };

/** Starts a child that runs `count` checks from `first` on under every condition, on an ISA; null: the best one that
    runs here. If it `copies`, it writes the bytes that each check hashes in plain calls, instead of results. */
struct child child_start(const char *isa, size_t first, size_t count, bool copies);

/** Ends a child, also before it has written everything, and writes how it ended to `end` [END_BYTES]: an empty text if
    it did all that it had to. */
void child_end(struct child child, char *end);

/** Runs a check on an ISA and on scalar again and returns where the bytes that it hashes first differ, counted in words
    of 4 bytes; or that one has more of them; or that they do not differ. The text lives until the next call. */
const char *first_difference(const char *isa, size_t check);

/** Returns whether a process without INLAY_ISA chooses the best ISA that runs here. */
bool chooses_best(void);
