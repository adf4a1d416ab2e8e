/* SPDX-License-Identifier: MIT */
/*
 * Replacements for functions that would require a recent glibc, so one wheel also runs on older systems. stat() and
 * fstat() became symbols in glibc 2.33; before, they were inline. The linker redirects calls here (--wrap).
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

/* On 64-bit machines, the kernel uses the same struct. */
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
