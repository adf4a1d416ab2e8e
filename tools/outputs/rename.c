/* SPDX-License-Identifier: MIT */
/*
 * The ways of rename.h. The system call is made by its number, as older C libraries have no function for it.
 */
#define _DEFAULT_SOURCE /* syscall */
#include "outputs/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NEW = 1, EXCHANGE = 2 }; /* RENAME_NOREPLACE and RENAME_EXCHANGE of <linux/fs.h> */

/* Returns 0 or -1 with errno, which is ENOSYS where the system or the file system does not know the flag. */
static int rename_flagged(const char *from, const char *to, unsigned flag)
{
#ifdef SYS_renameat2
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flag) == 0)
        return 0;
    /* Filters of system calls that are older than the call answer EPERM. */
    if (errno == EINVAL || errno == EPERM || errno == EOPNOTSUPP)
        errno = ENOSYS;
#else
    (void)from, (void)to, (void)flag;
    errno = ENOSYS;
#endif
    return -1;
}

int rename_new(const char *from, const char *to)
{
    if (rename_flagged(from, to, NEW) == 0)
        return 0;
    const bool linked = errno == ENOSYS && link(from, to) == 0;
    if (!linked) {
        if (errno != ENOSYS && errno != EPERM && errno != EOPNOTSUPP)
            return -1;
        const int file = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0)
            return -1;
        close(file);
    }
    if ((linked ? unlink(from) : rename(from, to)) == 0)
        return 0;
    const int failure = errno;
    unlink(to);
    errno = failure;
    return -1;
}

int rename_exchange(const char *one, const char *other)
{
    return rename_flagged(one, other, EXCHANGE);
}
