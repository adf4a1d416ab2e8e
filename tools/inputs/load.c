/* SPDX-License-Identifier: MIT */
/*
 * A .npy file must be a regular file, because a FIFO or device could block or never end. It is opened without blocking,
 * and at most its size is allocated.
 */
#include "inputs/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/npy.h"
#include "inputs/opened.h"
#include "text/message.h"

/* Far above the size of any real input. Stops mistakes such as reading /dev/zero. */
#define TEXT_LIMIT ((size_t)256 << 20)

static int cannot(const char *act, const char *path)
{
    return failed("cannot %s %s: %s", act, shown(path), strerror(errno));
}

/* Reads until `size` bytes are read or the file ends. Sets *done to the number of bytes read. */
static int read_full(int file, const char *path, void *out, size_t size, size_t *done)
{
    *done = 0;
    while (*done < size) {
        size_t step = size - *done < ((size_t)1 << 30) ? size - *done : (size_t)1 << 30;
        ssize_t got = read(file, (char *)out + *done, step);
        if (got == 0)
            break;
        if (got > 0)
            *done += (size_t)got;
        else if (errno != EINTR)
            return cannot("read", path);
    }
    return DONE;
}

/* Reads to the end of a file into a buffer that doubles. */
static int read_text(int file, const char *path, char **text, size_t *size)
{
    *size = 0;
    for (size_t room = 1 << 16; *size <= TEXT_LIMIT; room *= 2) {
        size_t got;
        *text = xrealloc(*text, room, shown(path));
        TRY(read_full(file, path, *text + *size, room - *size, &got));
        *size += got;
        if (*size < room)
            return DONE;
    }
    return failed("%s is larger than %zu MiB, the limit for text files", shown(path), TEXT_LIMIT >> 20);
}

int load_text(const char *path, char **text, size_t *size)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return cannot("open", path);
    const char *name = is_stdin ? "standard input" : path;
    struct stat status;
    int outcome = fstat(file, &status) == 0 ? input_note(&status, is_stdin ? name : shown(path)) : cannot("read", name);
    if (outcome == DONE)
        outcome = read_text(file, name, text, size);
    if (!is_stdin)
        close(file);
    return outcome;
}

static int read_npy(int file, const char *path, enum npy_kind kind, struct npy *npy, void **data)
{
    static const char *const names[] = {[NPY_TABLE] = "table",
                                        [NPY_LIST] = "list of numbers",
                                        [NPY_INTEGERS] = "list of integers",
                                        [NPY_SCALES] = "scale or zero-point array"};
    const char *what = names[kind];
    struct stat status;
    if (fstat(file, &status) != 0)
        return cannot("read", path);
    if (!S_ISREG(status.st_mode))
        return failed("%s is not a regular file, as a %s must be", shown(path), what);
    TRY(input_note(&status, shown(path)));

    size_t head_bytes = status.st_size < NPY_HEAD_BYTES ? (size_t)status.st_size : NPY_HEAD_BYTES;
    static char head[NPY_HEAD_BYTES];
    size_t got;
    TRY(read_full(file, path, head, head_bytes, &got));
    if (!inlay_npy_parse(head, got, (uint64_t)status.st_size, kind, npy))
        return failed("%s is not a %s: %s", shown(path), what, npy->why);

    const size_t bytes = npy->data_bytes;
    *data = xcalloc(bytes, 1, shown(path));
    if (lseek(file, (off_t)npy->data_offset, SEEK_SET) < 0)
        return cannot("read", path);
    TRY(read_full(file, path, *data, bytes, &got));
    return got == bytes ? DONE : failed("%s shrank while it was read", shown(path));
}

int load_npy(const char *path, enum npy_kind kind, struct npy *npy, void **data)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return cannot("open", path);
    int outcome = read_npy(file, path, kind, npy, data);
    close(file);
    return outcome;
}

int64_t npy_integer(const struct npy *npy, const void *data, size_t i)
{
    return npy->element == NPY_I4   ? ((const int32_t *)data)[i]
           : npy->element == NPY_U4 ? (int64_t)((const uint32_t *)data)[i]
                                    : ((const int64_t *)data)[i];
}
