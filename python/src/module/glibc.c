/* SPDX-License-Identifier: MIT */
/*
 * Functions that would bind the module to a recent glibc, so that one wheel serves older systems too. stat() and
 * fstat() became symbols in glibc 2.33; before that headers had them inline. The linker gives these to the libraries
 * instead
 * (--wrap).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int __wrap_fstat(int file, struct stat *status);
int __wrap_fstat64(int file, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);
int __wrap_stat64(const char *path, struct stat *status);

/* The kernel fills in the same struct on machines of 64 bits. */
int __wrap_fstat(int file, struct stat *status)
{
    return (int)syscall(SYS_fstat, file, status);
}

int __wrap_fstat64(int file, struct stat *status)
{
    return __wrap_fstat(file, status);
}

int __wrap_stat(const char *path, struct stat *status)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

int __wrap_stat64(const char *path, struct stat *status)
{
    return __wrap_stat(path, status);
}
