/* SPDX-License-Identifier: MIT */
/*
 * Tracks the regular files that a run reads, by device and inode, so that outputs/output.c doesn't replace any of them
 * under another name. Code that opens a file for reading must note it here.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/** Returns true if two files are the same, by device and inode. */
bool is_same_file(const struct stat *one, const struct stat *other);

/** Returns true if standard output is this file. */
bool is_stdout(const struct stat *file);

/** Notes an open file under the name shown in messages, if it is a regular one. Returns FAILED, with a message, if
    standard output is the same file. */
int input_note(const struct stat *file, const char *name);

/** Returns the name of this file in messages if it is an input, otherwise null. */
const char *find_input(const struct stat *file);
