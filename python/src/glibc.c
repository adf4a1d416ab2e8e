/* SPDX-License-Identifier: MIT */
/*
 * Functions that would bind the module to a recent glibc, so that one wheel serves older systems too. fstat() became a
 * symbol in glibc 2.33; before that headers had it inline. The linker gives these to libinlay instead (--wrap).
 */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int __wrap_fstat(int file, struct stat *status);
int __wrap_fstat64(int file, struct stat *status);

/* The kernel fills in the same struct on machines of 64 bits. */
int __wrap_fstat(int file, struct stat *status)
{
    return (int)syscall(SYS_fstat, file, status);
}

int __wrap_fstat64(int file, struct stat *status)
{
    return __wrap_fstat(file, status);
}
