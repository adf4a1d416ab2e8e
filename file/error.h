/* SPDX-License-Identifier: MIT */
/*
 * How functions of this library say what went wrong: a status, and a sentence that names file, tensor and values. Names
 * come from strangers, so that only printable ASCII of them reaches a message.
 */
#ifndef INLAY_FILE_ERROR_H
#define INLAY_FILE_ERROR_H

#include <inlay/file.h>

#include "text.h"

/**
 * Writes an error and returns its status.
 *
 * @param error   null, or where to write it
 * @param path    of the file, or null
 * @param name    the tensor or key, of no bytes if there is none
 * @param format  of a sentence, which follows path and name
 */
inlay_file_status inlay_file_fail(inlay_file_error *error, inlay_file_status status, const char *path,
                                  struct inlay_text name, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/** Writes that the system refused `what`, with errno, and returns INLAY_FILE_ERROR_SYSTEM. */
inlay_file_status inlay_file_fail_system(inlay_file_error *error, const char *path, const char *what);

/** Writes that malloc returned null and returns INLAY_FILE_ERROR_NO_MEMORY. */
inlay_file_status inlay_file_fail_memory(inlay_file_error *error, const char *path);

#endif
