/* SPDX-License-Identifier: MIT */
/*
 * The checks of `inlay selftest` as one list, numbered from 0, and the processes that run them. There is one process
 * per ISA, because a process can't change its ISA. The caller must not call the library before, except inlay_isa_at().
 */
#pragma once

#include <sys/types.h>

#include "selftest/check.h"

/** The result of a check on an ISA. */
struct result {
    uint64_t hash;
    char fault[TRIAL_FAULT_BYTES + 80]; /**< empty: none */
};

/** Returns the number of checks. */
size_t count_checks(void);

/** Returns the name of a check, valid until the next call. */
const char *check_name(size_t check);

/** A child process that runs checks. */
struct child {
    pid_t pid;
    FILE *pipe; /**< what it writes: a struct result per check */
};

/** Size of a text that describes how a child ended. */
enum { END_BYTES = 120 };

/** Starts a child that runs the first `count` checks under every condition on the ISA `isa`. Null: on the best ISA that
    runs here. */
struct child child_start(const char *isa, size_t count);

/** Ends a child, even if it has not written all results. Writes how it ended to `end` [END_BYTES]: an empty string if
    it completed its work. */
void child_end(struct child child, char *end);

/** Returns true if a process without INLAY_ISA uses the best ISA that runs here. */
bool chooses_best(void);
