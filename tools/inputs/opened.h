/* SPDX-License-Identifier: MIT */
/*
 * The regular files that a run reads, by device and inode, so that outputs/output.c replaces none of them under
 * whatever name. Whoever opens a file to read it notes it here.
 */
#pragma once

#include <sys/stat.h>

/** Notes the open file that a path ("-": standard input) led to. FAILED, with a message, if standard output writes to
    the same file or there is no memory. */
int input_note(int file, const char *path);

/** Likewise, a regular file that somebody else has opened. */
int input_note_opened(dev_t device, ino_t inode, const char *path);

/** Returns the name of the input that is this file, as messages show it; null if no input is. */
const char *input_named(const struct stat *status);
