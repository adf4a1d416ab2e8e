/* SPDX-License-Identifier: MIT */
/*
 * Files into memory: texts of any kind of file, tables and lists of numbers from .npy files. Files come from strangers:
 * every failure is a message and FAILED. Nothing is mapped, so that a file that shrinks meanwhile cannot kill the
 * process.
 */
#ifndef INLAY_TOOL_LOAD_H
#define INLAY_TOOL_LOAD_H

#include <stddef.h>

/** Reads a whole file, pipe or device ("-": standard input) into *text [*size]. *text must be null before, and the
    caller frees it in any case. */
int load_text(const char *path, char **text, size_t *size);

/** Reads float32 [*rows, *dim] from a regular .npy file into *table, which the caller frees. */
int load_table(const char *path, float **table, size_t *rows, size_t *dim);

/** Reads [*n] of float32, float64, int32 or int64 from a regular .npy file as doubles, which the caller frees. */
int load_list(const char *path, double **list, size_t *n);

#endif
