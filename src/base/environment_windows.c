/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment on Windows, which has no set-user-ID programs.
 */
#include "base/environment.h"

#include <stdlib.h>

const char *inlay_environment(const char *name)
{
    return getenv(name);
}
