/* SPDX-License-Identifier: MIT */
/*
 * Reading of small text files on Windows, without memory of its own. Paths are in the process's code page, as those of
 * fopen() are.
 */
#include "base/file.h"

#include <windows.h>

/* Returns the bytes read, at most `size`; -1 if reading failed. */
static ptrdiff_t read_until_end(HANDLE file, char *text, size_t size)
{
    size_t used = 0;
    while (used < size) {
        const size_t left = size - used, most = 1 << 30;
        DWORD got;
        if (!ReadFile(file, text + used, (DWORD)(left < most ? left : most), &got, NULL))
            return -1;
        if (got == 0)
            break;
        used += got;
    }
    return (ptrdiff_t)used;
}

bool inlay_read_file(const char *path, char *text, size_t size, size_t *bytes)
{
    const DWORD host_error = GetLastError();
    ptrdiff_t got = -1;
    /* A folder does not open this way. Pipes and devices do, but are no disk files, and nothing is read from them. */
    const HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file != INVALID_HANDLE_VALUE && GetFileType(file) == FILE_TYPE_DISK)
        got = read_until_end(file, text, size);
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    SetLastError(host_error);
    if (got < 0 || (size_t)got >= size)
        return false;
    text[got] = '\0';
    *bytes = (size_t)got;
    return true;
}
