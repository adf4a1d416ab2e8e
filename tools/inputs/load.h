/* SPDX-License-Identifier: MIT */
/*
 * Files into memory: texts of any kind of file, and the arrays of .npy files. Files come from strangers: every failure
 * is a message and FAILED. Nothing is mapped, so that a file that shrinks meanwhile cannot kill the process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/npy.h"

/** Reads a whole file, pipe or device ("-": standard input) into *text [*size], memory of the caller's. *text must be
    null before. */
int load_text(const char *path, char **text, size_t *size);

/** Reads a regular .npy file of a kind: what it holds goes to *npy and its elements, as they lie in the file, to *data,
    memory of the caller's. */
int load_npy(const char *path, enum npy_kind kind, struct npy *npy, void **data);

/** Returns element `i`, an integer, of what load_npy() read. */
int64_t npy_integer(const struct npy *npy, const void *data, size_t i);
