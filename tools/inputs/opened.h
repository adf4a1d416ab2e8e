/* SPDX-License-Identifier: MIT */
/*
 * The regular files that a run reads, by device and inode, so that outputs/output.c replaces none of them under
 * whatever name. Whoever opens a file to read it notes it here.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/** Returns whether two files are one, under whatever names. */
bool is_same_file(const struct stat *one, const struct stat *other);

/** Returns whether standard output writes to a file. */
bool is_stdout(const struct stat *file);

/** Notes an open file by the name that messages show, if it is a regular one. FAILED, with a message, if standard
    output writes to the same file. */
int input_note(const struct stat *file, const char *name);

/** Returns the name of the input that is this file, as messages show it; null if no input is. */
const char *input_named(const struct stat *file);
