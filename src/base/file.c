/* SPDX-License-Identifier: MIT */
/*
 * Reading of small text files, without memory of its own.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the bytes read, at most `size`; -1 if reading failed. */
static ssize_t read_until_end(int file, char *text, size_t size)
{
    size_t used = 0;
    while (used < size) {
        const ssize_t got = read(file, text + used, size - used);
        /* 1 branch never taken: where tests run, no signal interrupts the reading of a regular file. */
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

bool inlay_read_file(const char *path, char *text, size_t size, size_t *bytes)
{
    const int host_errno = errno;
    ssize_t got = -1;
    struct stat status;
    /* O_NONBLOCK: opening a pipe would wait for its writer. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    /* 1 branch never taken: fstat() of an open file fails only on file systems of a network. */
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        got = read_until_end(file, text, size);
    if (file >= 0)
        close(file);
    errno = host_errno;
    if (got < 0 || (size_t)got >= size)
        return false;
    text[got] = '\0';
    *bytes = (size_t)got;
    return true;
}
