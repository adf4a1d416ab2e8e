/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment. Where the C library knows of privileged processes they have none.
 */
#include "base/environment.h"

#include <stdlib.h>
#include <unistd.h>

const char *inlay_environment(const char *name)
{
#if defined(_WIN32) /* which has no set-user-ID programs */
    return getenv(name);
#elif defined(__APPLE__)
    return issetugid() ? NULL : getenv(name);
#else
    return secure_getenv(name);
#endif
}
