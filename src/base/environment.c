/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment, where the C library knows of privileged processes.
 */
#include "base/environment.h"

#include <stdlib.h>

const char *inlay_environment(const char *name)
{
    return secure_getenv(name);
}
