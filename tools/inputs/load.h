/* SPDX-License-Identifier: MIT */
/*
 * Loads files into memory: text from any kind of file, arrays from .npy files. Files are untrusted: every failure
 * prints a message and returns FAILED. Nothing is mapped, so a file that shrinks can't kill the process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats/npy.h"

/** Reads a whole file, pipe or device into *text [*size]. "-" is standard input. *text must be null before the call;
    the caller frees it. */
int load_text(const char *path, char **text, size_t *size);

/** Reads a .npy file of a kind, which must be a regular file. Writes the header to *npy. Sets *data to the unconverted
    elements; the caller frees them. */
int load_npy(const char *path, enum npy_kind kind, struct npy *npy, void **data);

/** Returns element `i`, an integer, of an array that load_npy() read. */
int64_t npy_integer(const struct npy *npy, const void *data, size_t i);
