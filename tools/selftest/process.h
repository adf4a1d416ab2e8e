/* SPDX-License-Identifier: MIT */
/*
 * The checks of `inlay selftest` as one list, counted from 0, and the processes that run them: one for each ISA, since
 * a process has one ISA for its life. The caller must not have used the library but for inlay_isa_at().
 */
#pragma once

#include "selftest/check.h"

/** What a check came to on an ISA. */
struct result {
    bool done;
    unsigned char digest[SHA256_BYTES];
    char fault[TRIAL_FAULT_BYTES + 80]; /**< empty: none */
};

/** Returns results [n] of zeros that child processes can write; null without memory. They live as long as the process.
 */
struct result *make_results(size_t n);

/** Returns the number of checks. */
size_t count_checks(void);

/** Returns the name of a check, which lives until the next call. */
const char *check_name(size_t check);

/** Runs all checks on an ISA under every condition and writes their results [checks], from make_results(). Returns how
    many came before the process ended; the others are zeros, and `end` [size] says how it ended, if not as it should.
 */
size_t collect(const char *isa, struct result *results, size_t checks, char *end, size_t size);

/** Runs a check on an ISA and on scalar again and returns where the bytes that it hashes first differ, counted in words
    of 4 bytes. The text lives until the next call. */
const char *first_difference(const char *isa, size_t check);

/** Returns whether a process without INLAY_ISA chooses the best ISA that runs here. */
bool chooses_best(void);
