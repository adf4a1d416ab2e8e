/* SPDX-License-Identifier: MIT */
/*
 * The checks of `inlay selftest` as one list, counted from 0, and the processes that run them: one for each ISA, since
 * a process has one ISA for its life. The caller must not have used the library but for inlay_isa_at().
 */
#pragma once

#include <stdatomic.h>

#include "selftest/check.h"

/** What a check came to on an ISA. */
struct result {
    unsigned char digest[SHA256_BYTES];
    char fault[TRIAL_FAULT_BYTES + 80]; /**< empty: none */
    atomic_bool done;
};

/** Returns the number of checks. */
size_t count_checks(void);

/** Returns the name of a check, which lives until the next call. */
const char *check_name(size_t check);

/** Runs all checks on an ISA under every condition and returns their results [checks], which later children cannot
    write and which live as long as the process; null if there is no memory. Writes to n how many came before the child
    ended; the others do not count, and `end` [size] says how it ended, if not as it should. */
const struct result *collect(const char *isa, size_t checks, size_t *n, char *end, size_t size);

/** Runs a check on an ISA and on scalar again and returns where the bytes that it hashes first differ, counted in words
    of 4 bytes. The text lives until the next call. */
const char *first_difference(const char *isa, size_t check);

/** Returns whether a process without INLAY_ISA chooses the best ISA that runs here. */
bool chooses_best(void);
