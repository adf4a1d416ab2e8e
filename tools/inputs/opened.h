/* SPDX-License-Identifier: MIT */
/*
 * Tracks the regular files that a run reads, by device and inode. outputs/output.c then doesn't replace an input that
 * is named by another path. Code that opens a file for reading must note it here.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/** Returns true if two files are the same, by device and inode. */
bool is_same_file(const struct stat *one, const struct stat *other);

/** Returns true if this file is standard output. */
bool is_stdout(const struct stat *file);

/** Notes an open file if it is a regular one. `name` is its name in messages. Returns FAILED, with a message, if
    standard output is the same file. */
int input_note(const struct stat *file, const char *name);

/** Returns the name from input_note() if this file is an input, otherwise null. */
const char *find_input(const struct stat *file);
