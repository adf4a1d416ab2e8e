/* SPDX-License-Identifier: MIT */
/*
 * Loads files into memory: text from any kind of file, arrays from .npy files. Files are untrusted: every failure
 * prints a message and returns FAILED. Nothing is mapped, so a file that shrinks can't kill the process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/npy.h"

/** Reads a whole file, pipe or device ("-" is standard input) into *text [*size], to be freed by the caller. *text must
    be null before the call. */
int load_text(const char *path, char **text, size_t *size);

/** Reads a regular .npy file of a kind. The header goes to *npy, and the unconverted elements to *data, to be freed by
    the caller. */
int load_npy(const char *path, enum npy_kind kind, struct npy *npy, void **data);

/** Returns element `i`, an integer, of an array that load_npy() read. */
int64_t npy_integer(const struct npy *npy, const void *data, size_t i);
