/* SPDX-License-Identifier: MIT */
/*
 * Environment variables. They are hidden from privileged processes if the C library can detect these.
 */
#include "base/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(const char *name)
{
#if defined(_WIN32) /* no set-user-ID programs */
    return getenv(name);
#elif defined(__APPLE__)
    return issetugid() ? NULL : getenv(name);
#else
    return secure_getenv(name);
#endif
}

bool inlay_environment_is(const char *name, const char *value)
{
    const char *has = variable(name);
    return has != NULL && strcmp(has, value) == 0;
}
