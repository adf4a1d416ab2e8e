/* SPDX-License-Identifier: MIT */
/*
 * Small text files of unknown origin. Only what runs once per process reads files.
 */
#ifndef INLAY_BASE_FILE_H
#define INLAY_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a regular file of fewer than `size` bytes into text [size] and ends it with a null character. Returns whether
   that succeeded; *bytes is then the length, without the null character. Keeps errno and blocks on nothing. */
bool inlay_read_file(const char *path, char *text, size_t size, size_t *bytes);

#endif
