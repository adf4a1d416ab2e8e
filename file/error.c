/* SPDX-License-Identifier: MIT */
/*
 * Error reporting. Messages keep the end of a long path and the beginning of a long name, the parts that distinguish
 * files and tensors.
 */
#include "error.h"

#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *inlay_file_status_string(inlay_file_status status)
{
    static const char *const sentences[] = {
        [INLAY_FILE_OK] = "success",
        [INLAY_FILE_ERROR_ARGUMENT] = "a required pointer is null, or an option is unknown",
        [INLAY_FILE_ERROR_NO_MEMORY] = "there is not enough memory",
        [INLAY_FILE_ERROR_SYSTEM] = "a file cannot be opened, read or mapped",
        [INLAY_FILE_ERROR_KIND] = "the file has an unsupported format",
        [INLAY_FILE_ERROR_TRUNCATED] = "the file is shorter than its header states",
        [INLAY_FILE_ERROR_LIMIT] = "a length, count, depth or size exceeds a limit",
        [INLAY_FILE_ERROR_SYNTAX] = "the header is malformed",
        [INLAY_FILE_ERROR_DUPLICATE] = "a name or key occurs twice",
        [INLAY_FILE_ERROR_RANGE] = "a tensor's data does not match its shape and type, or its place in the file",
        [INLAY_FILE_ERROR_TYPE] = "an element type is unknown or unsupported in tables",
        [INLAY_FILE_ERROR_SHAPE] = "a tensor has the wrong shape for its use",
        [INLAY_FILE_ERROR_MISSING] = "a tensor, a key or a file is missing",
        [INLAY_FILE_ERROR_MODEL] = "the model's input layer cannot be derived from its files",
    };
    size_t count = sizeof sentences / sizeof *sentences;
    return (size_t)status < count ? sentences[status] : "unknown status";
}

/* Copies the beginning of a name into out [room]. */
static void shorten(const char *name, char *out, size_t room)
{
    if ((size_t)snprintf(out, room, "%s", name) >= room)
        memcpy(out + room - 4, "...", 3);
    inlay_make_printable(out);
}

/* Writes "path: name: " into out [room], and returns its length. */
static size_t write_place(const char *path, const char *name, char *out, size_t room)
{
    enum { MAX_PATH = 120 };
    size_t used = 0;
    const size_t size = path != NULL ? strlen(path) : 0, cut = size > MAX_PATH ? size - MAX_PATH : 0;
    if (path != NULL)
        used = (size_t)snprintf(out, room, "%s%s: ", cut > 0 ? "..." : "", path + cut);
    if (*name != '\0')
        used += (size_t)snprintf(out + used, room - used, "%s: ", name);
    return used;
}

bool inlay_file_fail(inlay_file_error *error, inlay_file_status status, const char *path, const char *name,
                     const char *format, ...)
{
    if (error == NULL)
        return false;
    error->status = status;
    error->system_error = 0;
    shorten(name != NULL ? name : "", error->name, sizeof error->name);
    size_t used = write_place(path, error->name, error->message, sizeof error->message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message + used, sizeof error->message - used, format, arguments);
    va_end(arguments);
    inlay_make_printable(error->message);
    return false;
}

bool inlay_file_fail_system(inlay_file_error *error, const char *path, const char *what)
{
    int system_error = errno;
    inlay_file_fail(error, INLAY_FILE_ERROR_SYSTEM, path, NULL, "%s: %s", what, strerror(system_error));
    if (error != NULL)
        error->system_error = system_error;
    return false;
}

bool inlay_file_fail_memory(inlay_file_error *error, const char *path)
{
    return inlay_file_fail(error, INLAY_FILE_ERROR_NO_MEMORY, path, NULL, "there is not enough memory");
}
