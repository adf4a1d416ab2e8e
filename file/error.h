/* SPDX-License-Identifier: MIT */
/*
 * Error reporting: functions of this library return false, and write a status and a sentence with the file, the tensor
 * and the values to the caller's inlay_file_error. Names are untrusted, so only printable ASCII reaches a message.
 */
#pragma once

#include <inlay/file.h>

#include <stdbool.h>

/**
 * Writes an error and returns false.
 *
 * @param error   null, or the error to write
 * @param path    of the file, or null
 * @param name    the tensor or key, or null
 * @param format  of the sentence after path and name
 */
bool inlay_file_fail(inlay_file_error *error, inlay_file_status status, const char *path, const char *name,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

/** Reports that the system failed to do `what`, with errno. Returns false. */
bool inlay_file_fail_system(inlay_file_error *error, const char *path, const char *what);

/** Reports that malloc returned null. Returns false. */
bool inlay_file_fail_memory(inlay_file_error *error, const char *path);
