/* SPDX-License-Identifier: MIT */
/*
 * How functions of this library say what went wrong: they return false, and write a status and a sentence that names
 * file, tensor and values where the caller of the library finds them. Names come from strangers, so that only printable
 * ASCII of them reaches a message.
 */
#pragma once

#include <inlay/file.h>

#include <stdbool.h>

/**
 * Writes an error and returns false.
 *
 * @param error   null, or where to write it
 * @param path    of the file, or null
 * @param name    the tensor or key, or null
 * @param format  of a sentence, which follows path and name
 */
bool inlay_file_fail(inlay_file_error *error, inlay_file_status status, const char *path, const char *name,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

/** Writes that the system refused `what`, with errno, and returns false. */
bool inlay_file_fail_system(inlay_file_error *error, const char *path, const char *what);

/** Writes that malloc returned null and returns false. */
bool inlay_file_fail_memory(inlay_file_error *error, const char *path);
