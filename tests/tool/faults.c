/* SPDX-License-Identifier: MIT */
/*
 * A library to preload: it makes one call of the C library fail, return less, or be followed by a signal. INLAY_FAULT
 * is "FUNCTION N EFFECT": the N-th call (from 1; 0: every call) of read, readdir, fsync, link, rename, create (an open
 * that creates a file) or allocate (a request of at least a mebibyte). EFFECT is an errno number, "end" (read returns
 * 0), "short" (read returns one byte) or "signal NUMBER" (raised after the call succeeded). "probe 1 0" only reports
 * that the library is loaded.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char function[16], effect[16];
static int countdown, number;
static int always; /* every call is affected */

__attribute__((constructor)) static void read_environment(void)
{
    const char *fault = getenv("INLAY_FAULT");
    char calls[16] = "0";
    if (fault != NULL)
        sscanf(fault, "%15s %15s %15s %d", function, calls, effect, &number);
    countdown = atoi(calls);
    always = countdown == 0;
    if (strcmp(function, "probe") == 0)
        fputs("faults can be injected\n", stderr);
}

/* Returns true if this call of `name` is affected. */
static int due(const char *name)
{
    if (strcmp(name, function) != 0)
        return 0;
    countdown--;
    return countdown == 0 || always;
}

/* Returns true if an affected call fails, and sets errno; a signal does not make it fail. */
static int fails(void)
{
    errno = atoi(effect);
    return errno != 0;
}

ssize_t read(int file, void *out, size_t size)
{
    ssize_t (*real)(int, void *, size_t) = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    if (!due("read"))
        return real(file, out, size);
    if (strcmp(effect, "end") == 0)
        return 0;
    if (strcmp(effect, "short") == 0)
        return real(file, out, size > 0);
    return fails() ? -1 : real(file, out, size);
}

/* glibc's malloc, since dlsym() allocates. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

/* Returns true if a request of this size fails, and sets errno. */
static int no_memory(size_t size)
{
    return size >= 1 << 20 && due("allocate") && fails();
}

void *malloc(size_t size)
{
    return no_memory(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return no_memory(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return no_memory(size) ? NULL : __libc_realloc(memory, size);
}

int fsync(int file)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return due("fsync") && fails() ? -1 : real(file);
}

int link(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link");
    return due("link") && fails() ? -1 : real(from, to);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    return due("rename") && fails() ? -1 : real(from, to);
}

static void *read_entry(const char *name, DIR *stream)
{
    void *(*real)(DIR *) = (void *(*)(DIR *))dlsym(RTLD_NEXT, name);
    return due("readdir") && fails() ? NULL : real(stream);
}

struct dirent *readdir(DIR *stream)
{
    return read_entry("readdir", stream);
}

struct dirent64 *readdir64(DIR *stream)
{
    return read_entry("readdir64", stream);
}

static int open_any(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    int disturbed = (flags & O_CREAT) && due("create");
    if (disturbed && fails())
        return -1;
    int file = real(path, flags, mode);
    if (disturbed && strcmp(effect, "signal") == 0)
        raise(number);
    return file;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_any("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_any("open64", path, flags, mode);
}
